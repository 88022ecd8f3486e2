#include "shim/tool/elf_file.h"

#include "shim/badge.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define SEGMENTS_MAX 128 /* program headers looked at */
#define ENTRIES_MAX  512 /* entries of the dynamic section looked at */
#define NOTES_MAX    16  /* notes of one segment looked at */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ENCODING ELFDATA2LSB
#else
#define OWN_ENCODING ELFDATA2MSB
#endif

/* The program headers of one file; those of a 32-bit file made wide. */
struct segments {
    Elf64_Phdr header[SEGMENTS_MAX];
    size_t count;
    bool narrow; /* the file is a 32-bit one */
};

/* Where the bytes of the object come from: its file, or a process that has it mapped. */
struct source {
    int fd;
    uint64_t base; /* where in fd the object begins */
    bool mapped;
};

/* Reads size bytes at the offset, all of them or false. */
static bool read_at(const struct source *source, void *bytes, size_t size, uint64_t offset) {
    uint64_t at;
    return !__builtin_add_overflow(offset, source->base, &at) && at <= INT64_MAX - size &&
           pread(source->fd, bytes, size, (off_t)at) == (ssize_t)size;
}

/* Reads a string of at most room - 1 bytes, ended by a zero or the end of the file. */
static void read_string(const struct source *source, char *text, size_t room, uint64_t offset) {
    uint64_t at;
    ssize_t size = 0;
    if (!__builtin_add_overflow(offset, source->base, &at) && at <= INT64_MAX - room) {
        size = pread(source->fd, text, room - 1, (off_t)at);
    }
    text[size > 0 ? size : 0] = 0;
}

/* Where a segment begins: in the file, or in memory. */
static uint64_t begin_of(const struct source *source, const Elf64_Phdr *segment) {
    return source->mapped ? segment->p_vaddr : segment->p_offset;
}

static size_t at_most(size_t count, size_t most) {
    return count < most ? count : most;
}

static bool read_wide_segments(const struct source *source, struct segments *segments) {
    Elf64_Ehdr header;
    if (!read_at(source, &header, sizeof header, 0) || header.e_phentsize != sizeof(Elf64_Phdr)) {
        return false;
    }
    segments->count = at_most(header.e_phnum, SEGMENTS_MAX);
    return read_at(source, segments->header, segments->count * sizeof(Elf64_Phdr), header.e_phoff);
}

static bool read_narrow_segments(const struct source *source, struct segments *segments) {
    Elf32_Ehdr header;
    Elf32_Phdr narrow[SEGMENTS_MAX];
    if (!read_at(source, &header, sizeof header, 0) || header.e_phentsize != sizeof(Elf32_Phdr)) {
        return false;
    }
    segments->count = at_most(header.e_phnum, SEGMENTS_MAX);
    if (!read_at(source, narrow, segments->count * sizeof(Elf32_Phdr), header.e_phoff)) {
        return false;
    }
    for (size_t i = 0; i < segments->count; i++) {
        segments->header[i] = (Elf64_Phdr){.p_type = narrow[i].p_type,
                                           .p_offset = narrow[i].p_offset,
                                           .p_vaddr = narrow[i].p_vaddr,
                                           .p_filesz = narrow[i].p_filesz};
    }
    return true;
}

/* Where an address of the program is to be read; UINT64_MAX when it is in none of its segments. */
static uint64_t place_of(const struct source *source, const struct segments *segments, uint64_t address) {
    for (size_t i = 0; i < segments->count; i++) {
        const Elf64_Phdr *segment = &segments->header[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            return begin_of(source, segment) + (address - segment->p_vaddr);
        }
    }
    return UINT64_MAX;
}

static enum elf_libc libc_of_needed(const char *name) {
    if (strcmp(name, "libc.so.6") == 0) {
        return LIBC_GLIBC;
    }
    if (strncmp(name, "libc.musl-", 10) == 0) {
        return LIBC_MUSL;
    }
    return strncmp(name, "libc.so", 7) == 0 ? LIBC_OTHER : LIBC_UNKNOWN;
}

/* The entries of the dynamic section, those of a 32-bit file made wide. Returns how many come before the last one. */
static size_t read_dynamic(const struct source *source, const struct segments *segments,
                           const Elf64_Phdr *dynamic, Elf64_Dyn entries[ENTRIES_MAX]) {
    Elf32_Dyn narrow[ENTRIES_MAX];
    size_t size = segments->narrow ? sizeof *narrow : sizeof *entries;
    size_t count = at_most(dynamic->p_filesz / size, ENTRIES_MAX);
    void *bytes = segments->narrow ? (void *)narrow : (void *)entries;
    if (!read_at(source, bytes, count * size, begin_of(source, dynamic))) {
        return 0;
    }
    for (size_t i = 0; segments->narrow && i < count; i++) {
        entries[i] = (Elf64_Dyn){.d_tag = narrow[i].d_tag, .d_un.d_val = narrow[i].d_un.d_val};
    }
    for (size_t i = 0; i < count; i++) {
        if (entries[i].d_tag == DT_NULL) {
            return i;
        }
    }
    return count;
}

/* What the libraries that the dynamic section names tell: the C library, and io_uring's. */
static enum elf_libc read_needed(struct elf_file *file, const struct source *source,
                                 const struct segments *segments, const Elf64_Phdr *dynamic) {
    Elf64_Dyn entries[ENTRIES_MAX];
    enum elf_libc found = LIBC_UNKNOWN;
    size_t count = read_dynamic(source, segments, dynamic, entries);
    uint64_t strings = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].d_tag == DT_STRTAB) {
            strings = place_of(source, segments, entries[i].d_un.d_ptr);
        }
    }
    for (size_t i = 0; strings != UINT64_MAX && i < count; i++) {
        char name[64];
        if (entries[i].d_tag != DT_NEEDED) {
            continue;
        }
        read_string(source, name, sizeof name, strings + entries[i].d_un.d_val);
        enum elf_libc libc = libc_of_needed(name);
        if (found == LIBC_UNKNOWN) {
            found = libc;
        }
        if (strncmp(name, "liburing.so", 11) == 0) {
            file->uring = true;
        }
    }
    return found;
}

/* The loader decides which C library comes with it; its name is more telling than that of the library. */
static enum elf_libc libc_of_loader(const char *loader) {
    const char *slash = strrchr(loader, '/');
    const char *name = slash ? slash + 1 : loader;
    if (strncmp(name, "ld-musl-", 8) == 0) {
        return LIBC_MUSL;
    }
    return strncmp(name, "ld-linux", 8) == 0 ? LIBC_GLIBC : LIBC_UNKNOWN;
}

/* What the notes of a segment tell: that the Go linker was here, or where the shim wears its badge. */
static void read_notes(struct elf_file *file, const struct source *source, const Elf64_Phdr *segment) {
    uint64_t at = 0;
    for (size_t i = 0; i < NOTES_MAX && at + sizeof(Elf64_Nhdr) <= segment->p_filesz; i++) {
        Elf64_Nhdr note; /* the same in 32-bit files */
        char name[8];
        int32_t words[2];
        uint64_t begin = begin_of(source, segment) + at;
        if (!read_at(source, &note, sizeof note, begin)) {
            return;
        }
        uint64_t content = begin + sizeof note + ((uint64_t)note.n_namesz + 3) / 4 * 4;
        read_string(source, name, sizeof name, begin + sizeof note);
        if (note.n_namesz == 4 && strcmp(name, "Go") == 0) {
            file->go = true;
        }
        if (note.n_namesz == sizeof BADGE_NOTE_NAME && strcmp(name, BADGE_NOTE_NAME) == 0 &&
            note.n_type == BADGE_NOTE_TYPE && note.n_descsz == sizeof words &&
            read_at(source, words, sizeof words, content) && words[0] == BADGE_NOTE_LAYOUT) {
            uint64_t address = content - begin_of(source, segment) + segment->p_vaddr + 4;
            file->badge = address + (uint64_t)(int64_t)words[1];
        }
        at = content - begin_of(source, segment) + ((uint64_t)note.n_descsz + 3) / 4 * 4;
    }
}

static void read_contents(struct elf_file *file, const struct source *source,
                          const struct segments *segments) {
    enum elf_libc needed = LIBC_UNKNOWN;
    for (size_t i = 0; i < segments->count; i++) {
        const Elf64_Phdr *segment = &segments->header[i];
        if (segment->p_type == PT_INTERP && segment->p_filesz <= sizeof file->loader) {
            read_string(source, file->loader,
                        segment->p_filesz + 1 < PATH_MAX ? segment->p_filesz + 1 : PATH_MAX,
                        begin_of(source, segment));
        }
        if (segment->p_type == PT_NOTE) {
            read_notes(file, source, segment);
        }
        if (segment->p_type == PT_DYNAMIC) {
            file->dynamic = true;
            needed = read_needed(file, source, segments, segment);
        }
    }
    file->libc = libc_of_loader(file->loader);
    if (file->libc == LIBC_UNKNOWN) {
        file->libc = needed == LIBC_UNKNOWN ? LIBC_OTHER : needed;
    }
}

static enum elf_read read_object(struct elf_file *file, const struct source *source) {
    Elf64_Ehdr header;
    struct segments segments;
    memset(file, 0, sizeof *file);
    /* The first twenty bytes are laid out alike for all word sizes. */
    if (!read_at(source, &header, 20, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return ELF_NOT_ELF;
    }
    file->bits = header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
    file->encoding = header.e_ident[EI_DATA];
    file->machine = file->encoding == OWN_ENCODING ? header.e_machine : __builtin_bswap16(header.e_machine);
    if (file->encoding != OWN_ENCODING) {
        return ELF_READ;
    }
    segments.narrow = file->bits == 32;
    if (segments.narrow ? read_narrow_segments(source, &segments) : read_wide_segments(source, &segments)) {
        read_contents(file, source, &segments);
    }
    return ELF_READ;
}

enum elf_read elf_file_read(struct elf_file *file, const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        memset(file, 0, sizeof *file);
        return ELF_UNREADABLE;
    }
    struct source source = {.fd = fd};
    enum elf_read result = read_object(file, &source);
    close(fd);
    return result;
}

enum elf_read elf_file_read_mapped(struct elf_file *file, int memory, uint64_t base) {
    struct source source = {.fd = memory, .base = base, .mapped = true};
    return read_object(file, &source);
}

bool elf_file_fits(const struct elf_file *a, const struct elf_file *b) {
    return a->bits == b->bits && a->encoding == b->encoding && a->machine == b->machine;
}

const char *elf_machine_name(uint16_t machine) {
    static const struct {
        uint16_t machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"}, {EM_386, "i386"},   {EM_AARCH64, "aarch64"}, {EM_ARM, "arm"},
                 {EM_PPC64, "ppc64"},   {EM_PPC, "ppc"},    {EM_S390, "s390"},       {EM_RISCV, "riscv"},
                 {EM_MIPS, "mips"},     {EM_SPARC, "sparc"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].machine == machine) {
            return names[i].name;
        }
    }
    return NULL;
}

const char *elf_libc_name(enum elf_libc libc) {
    return libc == LIBC_GLIBC ? "glibc" : libc == LIBC_MUSL ? "musl" : "another C library";
}
