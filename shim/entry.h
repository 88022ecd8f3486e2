/* Entries of variadic functions, in assembly: see interpose_process.c for why.
 *
 * ENTRY(name, real, watched, words, WATCHES(number) ...) defines `name`, which jumps on to the next definition in
 * real_##real, but for those values of its first argument that are watched: with these it goes to the C function
 * `watched`, which is given so many words of arguments. */
#ifndef CUTOUT_SHIM_ENTRY_H
#define CUTOUT_SHIM_ENTRY_H

#include "shim/raw.h"
#include "shim/real.h"

_Static_assert(offsetof(struct real, next) == 0, "an entry jumps through the first word");

#define ENTRY_TEXT(number) #number
/* A number of a system call, or an option, that the assembler can read: these are plain numbers all. */
#define ENTRY_NUMBER(number) ENTRY_TEXT(number)

/* Where indirect branches may only lead to marked places (-fcf-protection), an entry is one. */
#if defined(__CET__) && defined(__x86_64__)
#define ENTRY_MARK "endbr64\n\t"
#elif defined(__CET__)
#define ENTRY_MARK "endbr32\n\t"
#elif defined(__ARM_FEATURE_BTI_DEFAULT)
#define ENTRY_MARK "hint #34\n\t"
#else
#define ENTRY_MARK ""
#endif

#define ENTRY(name, real, watched, words, watches)                                                           \
    __asm__(".pushsection .text\n\t"                                                                         \
            ".p2align 4\n\t"                                                                                 \
            ".globl " #name "\n\t"                                                                           \
            ".type " #name ", %function\n" #name ":\n\t"                                                     \
            ".cfi_startproc\n\t" ENTRY_MARK watches ENTRY_NEXT(                                              \
                "real_" #real) "1:\n\t" ENTRY_WATCHED_##words(#watched) ".cfi_endproc\n\t"                   \
                                                                        ".size " #name ", . - " #name "\n\t" \
                                                                        ".popsection")

#if defined(__x86_64__)

#define WATCHES(number)          "cmpl $" ENTRY_NUMBER(number) ", %edi\n\tje 1f\n\t"
#define ENTRY_NEXT(real)         "jmpq *" real "(%rip)\n"
#define ENTRY_WATCHED_5(watched) "jmp " watched "\n\t"
#define ENTRY_WATCHED_6(watched) "jmp " watched "\n\t"

#elif defined(__aarch64__)

#define WATCHES(number)          "mov w16, #" ENTRY_NUMBER(number) "\n\tcmp w0, w16\n\tb.eq 1f\n\t"
#define ENTRY_NEXT(real)         "adrp x16, " real "\n\tldr x16, [x16, #:lo12:" real "]\n\tbr x16\n"
#define ENTRY_WATCHED_5(watched) "b " watched "\n\t"
#define ENTRY_WATCHED_6(watched) "b " watched "\n\t"

#elif defined(__i386__)

/* The table of addresses is found by way of the return address of a call. */
#define WATCHES(number) "cmpl $" ENTRY_NUMBER(number) ", 4(%esp)\n\tje 1f\n\t"
#define ENTRY_NEXT(real)                                                                                     \
    "call 2f\n"                                                                                              \
    "2:\n\t.cfi_adjust_cfa_offset 4\n\tpopl %ecx\n\t.cfi_adjust_cfa_offset -4\n"                             \
    "3:\n\taddl $_GLOBAL_OFFSET_TABLE_+(3b-2b), %ecx\n\t"                                                    \
    "jmp *" real "@GOTOFF(%ecx)\n"
/* All arguments lie on the stack: the C function gets copies, for it may use their places as its own. */
#define ENTRY_PUSH "pushl 28(%esp)\n\t.cfi_adjust_cfa_offset 4\n\t"
#define ENTRY_COPIES(watched, room, pushes)                                                                  \
    "subl $" #room ", %esp\n\t.cfi_adjust_cfa_offset " #room "\n\t" pushes "call " watched                   \
    "\n\taddl $28, %esp\n\t.cfi_adjust_cfa_offset -28\n\tret\n\t"
#define ENTRY_WATCHED_5(watched)                                                                             \
    ENTRY_COPIES(watched, 8, ENTRY_PUSH ENTRY_PUSH ENTRY_PUSH ENTRY_PUSH ENTRY_PUSH)
#define ENTRY_WATCHED_6(watched)                                                                             \
    ENTRY_COPIES(watched, 4, ENTRY_PUSH ENTRY_PUSH ENTRY_PUSH ENTRY_PUSH ENTRY_PUSH ENTRY_PUSH)

#endif

/* arm64 has no dup2. */
#ifdef SYS_dup2
#define WATCHES_DUP2 WATCHES(SYS_dup2)
#else
#define WATCHES_DUP2
#endif

#endif
