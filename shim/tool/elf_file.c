#include "shim/tool/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define SEGMENTS_MAX 128 /* program headers looked at */
#define ENTRIES_MAX  512 /* entries of the dynamic section looked at */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ENCODING ELFDATA2LSB
#else
#define OWN_ENCODING ELFDATA2MSB
#endif

/* The program headers of one file. */
struct segments {
    Elf64_Phdr header[SEGMENTS_MAX];
    size_t count;
};

/* Reads size bytes at the offset, all of them or false. */
static bool read_at(int fd, void *bytes, size_t size, uint64_t offset) {
    return offset <= INT64_MAX - size && pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* Reads a string of at most room - 1 bytes, ended by a zero or the end of the file. */
static void read_string(int fd, char *text, size_t room, uint64_t offset) {
    ssize_t size = offset <= INT64_MAX - room ? pread(fd, text, room - 1, (off_t)offset) : 0;
    text[size > 0 ? size : 0] = 0;
}

static bool read_segments(int fd, const Elf64_Ehdr *header, struct segments *segments) {
    segments->count = header->e_phnum < SEGMENTS_MAX ? header->e_phnum : SEGMENTS_MAX;
    return header->e_phentsize == sizeof(Elf64_Phdr) &&
           read_at(fd, segments->header, segments->count * sizeof(Elf64_Phdr), header->e_phoff);
}

/* Where in the file an address of the program lies; UINT64_MAX when it is in none of its segments. */
static uint64_t offset_of(const struct segments *segments, uint64_t address) {
    for (size_t i = 0; i < segments->count; i++) {
        const Elf64_Phdr *segment = &segments->header[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            return segment->p_offset + (address - segment->p_vaddr);
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

/* The C library among the libraries that the dynamic section names. */
static enum elf_libc read_needed(int fd, const struct segments *segments, const Elf64_Phdr *dynamic) {
    Elf64_Dyn entries[ENTRIES_MAX];
    size_t count = dynamic->p_filesz / sizeof *entries;
    uint64_t strings = UINT64_MAX;
    if (count > ENTRIES_MAX) {
        count = ENTRIES_MAX;
    }
    if (!read_at(fd, entries, count * sizeof *entries, dynamic->p_offset)) {
        return LIBC_UNKNOWN;
    }
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_STRTAB) {
            strings = offset_of(segments, entries[i].d_un.d_ptr);
        }
    }
    for (size_t i = 0; strings != UINT64_MAX && i < count && entries[i].d_tag != DT_NULL; i++) {
        char name[64];
        if (entries[i].d_tag != DT_NEEDED) {
            continue;
        }
        read_string(fd, name, sizeof name, strings + entries[i].d_un.d_val);
        enum elf_libc libc = libc_of_needed(name);
        if (libc != LIBC_UNKNOWN) {
            return libc;
        }
    }
    return LIBC_UNKNOWN;
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

/* True when the segment begins with the note that the Go linker leaves. */
static bool is_go_note(int fd, const Elf64_Phdr *segment) {
    Elf64_Nhdr note;
    char name[4];
    return read_at(fd, &note, sizeof note, segment->p_offset) && note.n_namesz == sizeof name &&
           read_at(fd, name, sizeof name, segment->p_offset + sizeof note) && memcmp(name, "Go\0", 4) == 0;
}

static void read_contents(struct elf_file *file, int fd, const struct segments *segments) {
    enum elf_libc needed = LIBC_UNKNOWN;
    for (size_t i = 0; i < segments->count; i++) {
        const Elf64_Phdr *segment = &segments->header[i];
        if (segment->p_type == PT_INTERP && segment->p_filesz <= sizeof file->loader) {
            read_string(fd, file->loader, segment->p_filesz + 1 < PATH_MAX ? segment->p_filesz + 1 : PATH_MAX,
                        segment->p_offset);
        }
        if (segment->p_type == PT_NOTE && is_go_note(fd, segment)) {
            file->go = true;
        }
        if (segment->p_type == PT_DYNAMIC) {
            file->dynamic = true;
            needed = read_needed(fd, segments, segment);
        }
    }
    file->libc = libc_of_loader(file->loader);
    if (file->libc == LIBC_UNKNOWN) {
        file->libc = needed == LIBC_UNKNOWN ? LIBC_OTHER : needed;
    }
}

static enum elf_read read_open_file(struct elf_file *file, int fd) {
    Elf64_Ehdr header;
    struct segments segments;
    /* The first twenty bytes are laid out alike for all word sizes. */
    if (!read_at(fd, &header, 20, 0)) {
        return ELF_NOT_ELF;
    }
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return ELF_NOT_ELF;
    }
    file->bits = header.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
    file->encoding = header.e_ident[EI_DATA];
    file->machine = file->encoding == OWN_ENCODING ? header.e_machine : __builtin_bswap16(header.e_machine);
    if (file->bits != 64 || file->encoding != OWN_ENCODING) {
        return ELF_READ;
    }
    if (read_at(fd, &header, sizeof header, 0) && read_segments(fd, &header, &segments)) {
        read_contents(file, fd, &segments);
    }
    return ELF_READ;
}

enum elf_read elf_file_read(struct elf_file *file, const char *path) {
    memset(file, 0, sizeof *file);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return ELF_UNREADABLE;
    }
    enum elf_read result = read_open_file(file, fd);
    close(fd);
    return result;
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
