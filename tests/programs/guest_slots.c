/* A caller of syscall() and prctl() with a variable of its own where further arguments would lie, which another thread
 * changes all the while. Prints how many changes were lost: 0.
 *
 * In assembly, because only so it is sure what lies there.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long *_Atomic place;
static atomic_int stopped;
static pthread_t other;
static long changes;

static void *change(void *unused) {
    while (!place)
        continue;
    while (!stopped) {
        (*place)++;
        changes++;
    }
    return unused;
}

/* Called while the caller's variable still is there. */
void slots_stop(void);
void slots_stop(void) {
    stopped = 1;
    pthread_join(other, NULL);
}

/* Calls function(number) so many times, tells where its variable is, then calls slots_stop; returns the variable. */
long slots_call(void *function, long number, long times, atomic_long *_Atomic *where);

#if defined(__x86_64__)
__asm__(".text\n"
        "slots_call:\n\t"
        "pushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\t"
        "subq $24, %rsp\n\t"
        "movq %rdi, %r12\n\tmovq %rsi, %r13\n\tmovq %rdx, %rbx\n\t"
        "movq $0, (%rsp)\n\t"
        "movq %rsp, (%rcx)\n"
        "1:\tmovq %r13, %rdi\n\txorl %eax, %eax\n\tcall *%r12\n\t"
        "decq %rbx\n\tjnz 1b\n\t"
        "call slots_stop\n\t"
        "movq (%rsp), %rax\n\t"
        "addq $24, %rsp\n\t"
        "popq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\t"
        "ret");
#else
__asm__(".text\n"
        "slots_call:\n\t"
        "pushl %ebx\n\tpushl %esi\n\tpushl %edi\n\tpushl %ebp\n\t"
        "subl $28, %esp\n\t"
        "movl 48(%esp), %esi\n\tmovl 52(%esp), %edi\n\tmovl 56(%esp), %ebx\n\tmovl 60(%esp), %ecx\n\t"
        "movl $0, 4(%esp)\n\t"
        "leal 4(%esp), %eax\n\tmovl %eax, (%ecx)\n"
        "1:\tmovl %edi, (%esp)\n\tcall *%esi\n\t"
        "decl %ebx\n\tjnz 1b\n\t"
        "call slots_stop\n\t"
        "movl 4(%esp), %eax\n\t"
        "addl $28, %esp\n\t"
        "popl %ebp\n\tpopl %edi\n\tpopl %esi\n\tpopl %ebx\n\t"
        "ret");
#endif

static void try(const char *name, void *function, long number) {
    place = NULL;
    stopped = 0;
    changes = 0;
    pthread_create(&other, NULL, change, NULL);
    long seen = slots_call(function, number, 1000000, &place);
    printf("%s: %s, %ld lost\n", name, changes ? "changed" : "never changed", changes - seen);
}

int main(void) {
    try("syscall", (void *)syscall, SYS_getpid);
    try("prctl", (void *)prctl, PR_GET_DUMPABLE);
    return 0;
}
