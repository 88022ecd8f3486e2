# make              the shim and the command, in build/
# make demo         watch a breaker open and close under an unmodified curl
# make test         all tests (needs the test tools, see README)
# make fuzz         half a minute for each of the languages' fuzzers (RUNS=N: so many executions)
# make test-suites  CPython's own tests of sockets, bare and under the shim
# make soak         a million connections to ten thousand destinations
# make tidy         formatting, linters and the checks on the built object
# make install      PREFIX=/usr/local DESTDIR=
# CC=clang, SAN=address,undefined and SAN=thread build variants; WERROR=1 makes warnings errors.
# M32=1 builds and installs the shim for 32-bit programs beside the other (on x86_64; needs gcc-multilib).

CC      ?= cc
PREFIX  ?= /usr/local
DESTDIR ?=
SAN     ?=
WERROR  ?=
M32     ?=
VERSION := 0.1.0
B       := build

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wundef -Wvla \
            -Wpointer-arith -Wwrite-strings -Wformat=2 -Wold-style-definition
COMMON   := -std=gnu11 -D_GNU_SOURCE -I. -O2 -g -fPIC -fvisibility=hidden -fno-strict-aliasing -fno-common \
            -DCUTOUT_VERSION='"$(VERSION)"' $(WARNINGS) $(if $(WERROR),-Werror) \
            $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
# clang would otherwise call bcmp where memcmp is written; the engine and the guest ask for mem* and strlen alone.
COMMON   += -fno-builtin-bcmp
# The guest: small frames (other programs' tiny stacks), no fortified imports, its few thread-local bytes at hand
# without a call into the loader.
GUEST    := $(COMMON) -ffunction-sections -fdata-sections -ftls-model=initial-exec -U_FORTIFY_SOURCE -fstack-usage $(if $(SAN),,-Wframe-larger-than=1024)
LINK_SO  := -shared -Wl,--gc-sections,-z,noseparate-code,-z,now,-z,relro,-z,nodelete,-z,noexecstack,--version-script=shim/exports.map \
            -Wl,--no-as-needed -l:libdl.so.2 -Wl,-soname,libcutout.so
LINK     := $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)

# The same for 32-bit programs: no sanitizers, and for every processor since the Pentium Pro.
SIZE_32  := -m32 -march=i686
GUEST_32 := $(SIZE_32) $(filter-out -fsanitize=% -fno-omit-frame-pointer,$(GUEST))

LIB   := $(wildcard lib/*.c)
RULES := $(wildcard rules/*.c)
SHIM  := $(wildcard shim/*.c)
TOOL  := $(wildcard shim/tool/*.c) $(addprefix shim/,panel.c slot.c load.c refresh.c clock.c environment.c)
PROGRAMS := $(filter-out tests/programs/fuzz_%,$(wildcard tests/programs/*.c))

objects = $(patsubst %.c,$(B)/obj/%.o,$(1))

all: $(B)/libcutout.so $(B)/cutout $(if $(M32),m32)

# Rebuilt when the compiler or the flags differ from those of the last build.
FLAGS_NOW := $(CC) | $(COMMON) | $(GUEST) | $(LINK_SO) | $(LINK) | $(GUEST_32)
$(shell mkdir -p $(B); printf '%s\n' "$(subst ",\",$(FLAGS_NOW))" | cmp -s - $(B)/flags || printf '%s\n' "$(subst ",\",$(FLAGS_NOW))" > $(B)/flags)

$(B)/libcutout.so: $(call objects,$(SHIM) $(LIB) $(RULES)) shim/exports.map
	$(CC) -o $@ $(filter %.o,$^) $(LINK) $(LINK_SO)

$(B)/cutout: $(call objects,$(TOOL) $(LIB) $(RULES))
	$(CC) -o $@ $^ $(LINK)

# The shim for 32-bit programs, and what leads to either: in LD_PRELOAD each loader puts for $LIB its own name of where
# the libraries lie, so every such name is one here. "lib" alone is of 64 bits, but where those have a real lib64.
NARROW := $(B)/obj32/libcutout.so

m32: $(B)/libcutout.so $(NARROW)
	$(call install_narrow,$(B))

$(NARROW): $(patsubst %.c,$(B)/obj32/%.o,$(SHIM) $(LIB) $(RULES)) shim/exports.map shim/exports_time64.map
	sed '/^    global:/r shim/exports_time64.map' shim/exports.map > $(B)/obj32/exports.map
	$(CC) $(SIZE_32) -o $@ $(filter %.o,$^) $(LDFLAGS) $(subst shim/exports.map,$(B)/obj32/exports.map,$(LINK_SO))

$(B)/obj32/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(GUEST_32) -MMD -MP -c -o $@ $<

LIB_IS_32  = $(shell [ -e /usr/lib64/libc.so.6 ] && [ ! -h /usr/lib64 ] && echo lib32/)
install_narrow = $(INSTALL) -d $(1)/lib32 && $(INSTALL) -m 644 $(NARROW) $(1)/lib32/libcutout.so && \
	cd $(1) && mkdir -p lib64 lib/x86_64-linux-gnu lib/i386-linux-gnu && \
	ln -sfn ../libcutout.so lib64/libcutout.so && \
	ln -sfn ../../libcutout.so lib/x86_64-linux-gnu/libcutout.so && \
	ln -sfn ../../lib32/libcutout.so lib/i386-linux-gnu/libcutout.so && \
	ln -sfn ../$(LIB_IS_32)libcutout.so lib/libcutout.so

$(B)/obj/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(GUEST) $(OPTIMISE) -MMD -MP -c -o $@ $<
# What runs once, or hardly ever, is to be small, not fast.
COLD := $(RULES) $(wildcard shim/real*.c) \
        $(addprefix shim/,address.c call_close.c call_lookup.c connection.c environment.c \
        error.c guest.c interpose_lookup.c load.c names.c panel.c refresh.c slot.c) \
        $(addprefix lib/,endpoint.c endpoint_parse.c journal.c override.c panel.c permit.c protocol.c recording.c text.c \
        thresholds.c tls_records.c)
$(call objects,$(COLD)): OPTIMISE := -Os
$(B)/obj/shim/tool/%.o: shim/tool/%.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(COMMON) -MMD -MP -c -o $@ $<

# Programs of the tests: each of one file, linked with the engine and the rules language.
programs: $(patsubst tests/programs/%.c,$(B)/tests/%,$(PROGRAMS))
$(B)/tests/%: tests/programs/%.c $(call objects,$(LIB) $(RULES)) $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(COMMON) -MMD -MP -MF $@.d -o $@ $< $(call objects,$(LIB) $(RULES)) $(LINK) -pthread

# Those named shim_* drive parts of the guest as well.
GUESTS := $(call objects,$(addprefix shim/,panel.c slot.c load.c refresh.c clock.c environment.c names.c))
$(B)/tests/shim_%: tests/programs/shim_%.c $(GUESTS) $(call objects,$(LIB) $(RULES)) $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(COMMON) -MMD -MP -MF $@.d -o $@ $< $(GUESTS) $(call objects,$(LIB) $(RULES)) $(LINK) -pthread

test: all $(NARROW) programs
	@CC='$(CC)' BUILD='$(abspath $(B))' tests/run

# The same with the uploads, and the storms, that take a minute.
test-long: all $(NARROW) programs
	@CC='$(CC)' BUILD='$(abspath $(B))' UPLOAD_MB=200 STORM_S=60 STORM_CHILDREN=10000 LIMIT_S=150 tests/run

# Fuzzers of the two languages, by clang's libFuzzer; RUNS=N executions each, without it half a minute. Measuring the
# distances of misspelt words is left out of the coverage: it would take nine tenths of the time.
FUZZ   := -std=gnu11 -D_GNU_SOURCE -I. -O1 -g -fno-strict-aliasing -fno-sanitize-recover=all
FUZZED := $(filter-out rules/suggest.c,$(LIB) $(RULES))
$(B)/fuzz/fuzz_%: tests/programs/fuzz_%.c $(LIB) $(RULES) $(wildcard lib/*.h rules/*.h) tests/programs/fuzz.h
	@mkdir -p $(@D)
	clang $(FUZZ) -fsanitize=address,undefined -c -o $@_suggest.o rules/suggest.c
	clang $(FUZZ) -fsanitize=fuzzer,address,undefined -o $@ $< $(FUZZED) $@_suggest.o

fuzz: $(B)/fuzz/fuzz_trace $(B)/fuzz/fuzz_rules
	@B='$(B)' RUNS='$(RUNS)' tests/fuzz

# A million connections to ten thousand destinations, in some minutes.
soak: all programs
	@BUILD='$(abspath $(B))' tests/soak

# What CPython has to test its sockets by, bare and under the shim; needs libpython3.11-testsuite. Some minutes.
test-suites: all
	@BUILD='$(abspath $(B))' tests/suites

demo: all $(B)/tests/server_flaky
	@BUILD='$(abspath $(B))' tests/demo

tidy: all
	B=$(B) SAN=$(SAN) tests/tidy

# Man pages lie beside what they document.
MAN := shim/tool/cutout.1 rules/cutout.rules.5 shim/libcutout.7
INSTALL ?= install

install: all
	$(INSTALL) -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/cutout $(DESTDIR)$(PREFIX)/share/cutout/rules
	$(INSTALL) -m 755 $(B)/cutout $(DESTDIR)$(PREFIX)/bin/cutout
	$(INSTALL) -m 644 $(B)/libcutout.so $(DESTDIR)$(PREFIX)/lib/cutout/libcutout.so
	$(if $(M32),$(call install_narrow,$(DESTDIR)$(PREFIX)/lib/cutout))
	$(INSTALL) -m 644 $(wildcard rules/*.rules rules/*.trace rules/*.md) $(DESTDIR)$(PREFIX)/share/cutout/rules
	for page in $(MAN); do \
	    section=$(DESTDIR)$(PREFIX)/share/man/man$${page##*.}; \
	    $(INSTALL) -d $$section && $(INSTALL) -m 644 $$page $$section || exit 1; \
	done

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/cutout
	rm -rf $(DESTDIR)$(PREFIX)/lib/cutout $(DESTDIR)$(PREFIX)/share/cutout
	for page in $(MAN); do \
	    rm -f $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/}; \
	done

clean:
	rm -rf $(B)

.PHONY: all m32 programs test test-long test-suites soak fuzz demo tidy install uninstall clean
-include $(shell find $(B)/obj $(B)/obj32 $(B)/tests -name '*.d' 2>/dev/null)
