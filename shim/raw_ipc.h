/* The System V calls of the panel, made directly: shared memory and semaphores. As in raw.h each returns the kernel's
 * result, or -errno.
 *
 * On i386 they go through the one call ipc(2), which every kernel has there; the direct ones came with Linux 5.1, and a
 * direct semop never. */
#ifndef CUTOUT_SHIM_RAW_IPC_H
#define CUTOUT_SHIM_RAW_IPC_H

#include "shim/raw.h"

#include <stddef.h>
#include <sys/sem.h>
#include <sys/shm.h>

#if defined(SYS_ipc)

/* Which of them ipc(2) is to do. */
enum { RAW_SEMOP = 1, RAW_SEMGET, RAW_SEMCTL, RAW_SHMAT = 21, RAW_SHMDT, RAW_SHMGET, RAW_SHMCTL };
#define RAW_IPC_64 0x100 /* the structs of today's libc */

static inline long raw_shmget(int key, size_t size_bytes, int flags) {
    return raw_call4(SYS_ipc, RAW_SHMGET, key, (long)size_bytes, flags);
}

static inline long raw_shmat(int id, int flags) {
    long address = 0;
    long result = raw_call6(SYS_ipc, RAW_SHMAT, id, flags, (long)&address, 0, 0);
    return raw_failed(result) ? result : address;
}

static inline long raw_shmdt(void *address) {
    return raw_call6(SYS_ipc, RAW_SHMDT, 0, 0, 0, (long)address, 0);
}

static inline long raw_shmctl(int id, int what, struct shmid_ds *status) {
    return raw_call6(SYS_ipc, RAW_SHMCTL, id, what | RAW_IPC_64, 0, (long)status, 0);
}

static inline long raw_semget(int key, int count, int flags) {
    return raw_call4(SYS_ipc, RAW_SEMGET, key, count, flags);
}

static inline long raw_semctl(int id, unsigned number, int what, struct semid_ds *status) {
    return raw_call6(SYS_ipc, RAW_SEMCTL, id, (long)number, what | RAW_IPC_64, (long)&status, 0);
}

static inline long raw_semop(int id, struct sembuf *steps, size_t count) {
    return raw_call6(SYS_ipc, RAW_SEMOP, id, (long)count, 0, (long)steps, 0);
}

#else

static inline long raw_shmget(int key, size_t size_bytes, int flags) {
    return raw_call3(SYS_shmget, key, (long)size_bytes, flags);
}

static inline long raw_shmat(int id, int flags) {
    return raw_call3(SYS_shmat, id, 0, flags);
}

static inline long raw_shmdt(void *address) {
    return raw_call3(SYS_shmdt, (long)address, 0, 0);
}

static inline long raw_shmctl(int id, int what, struct shmid_ds *status) {
    return raw_call3(SYS_shmctl, id, what, (long)status);
}

static inline long raw_semget(int key, int count, int flags) {
    return raw_call3(SYS_semget, key, count, flags);
}

static inline long raw_semctl(int id, unsigned number, int what, struct semid_ds *status) {
    return raw_call4(SYS_semctl, id, (long)number, what, (long)status);
}

static inline long raw_semop(int id, struct sembuf *steps, size_t count) {
    return raw_call3(SYS_semop, id, (long)steps, (long)count);
}

#endif

#endif
