/* What an ELF file says of itself: read by hand, a few hundred bytes, every offset in it distrusted. */
#ifndef CUTOUT_SHIM_TOOL_ELF_FILE_H
#define CUTOUT_SHIM_TOOL_ELF_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum elf_libc { LIBC_UNKNOWN = 0, LIBC_GLIBC, LIBC_MUSL, LIBC_OTHER };

struct elf_file {
    uint8_t bits;     /* 32 or 64 */
    uint8_t encoding; /* ELFDATA2LSB or ELFDATA2MSB */
    uint16_t machine; /* EM_… */
    /* Only where the encoding is this program's own: */
    bool dynamic;          /* a dynamic section: shared object, or program that is dynamically linked */
    char loader[PATH_MAX]; /* PT_INTERP: the loader it asks for; "" = none: it loads no library */
    enum elf_libc libc;    /* which C library it is linked with */
    bool go;               /* built by the Go tool chain */
    bool uring;            /* linked with the library of io_uring */
    /* The shim: where its badge lies, from its beginning in memory. 0 = it is something else. */
    uint64_t badge;
};

enum elf_read {
    ELF_READ = 0,
    ELF_NOT_ELF,   /* something else */
    ELF_UNREADABLE /* it cannot be opened or read */
};

enum elf_read elf_file_read(struct elf_file *file, const char *path);

/* The same of an object that a process has mapped whole, from its memory (/proc/PID/mem), where it begins at base. Its
 * dynamic section has been put right by the loader, so what libraries it names is not known. */
enum elf_read elf_file_read_mapped(struct elf_file *file, int memory, uint64_t base);

/* True when one process can hold both: same word size, byte order and machine. */
bool elf_file_fits(const struct elf_file *a, const struct elf_file *b);

/* "x86-64", "i386" …, NULL for one that is not known by name. */
const char *elf_machine_name(uint16_t machine);

/* "glibc", "musl", "another C library". */
const char *elf_libc_name(enum elf_libc libc);

#endif
