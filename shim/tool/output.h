/* How the command prints: text from outside made harmless, times, durations, ratios. No locale. */
#ifndef CUTOUT_SHIM_TOOL_OUTPUT_H
#define CUTOUT_SHIM_TOOL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The text with control characters and broken UTF-8 escaped, fit for a terminal. Lies in one of sixteen
 * buffers that are used in turn: valid until sixteen more calls of this and the functions below. Very long
 * text is cut. */
const char *shown(const char *text);

/* Wall-clock time: "2026-11-30T09:00:07.512Z". */
const char *shown_time(uint64_t unix_ns);

/* As the rules write it, cut to the millisecond: "700ms", "1.5s", "10s". */
const char *shown_duration(uint64_t ns);

/* Roughly, in the largest unit, for narrow columns: "7.2s", "45s", "12m", "3h", "9d". */
const char *shown_span(uint64_t ns);

/* part of whole as a percentage with one decimal, cut, never rounded up to a threshold it has not reached:
 * "75.0%"; "0.0%" where whole is 0. */
const char *shown_share(uint64_t part, uint64_t whole);

/* Hundredths of a percent as the rules write a ratio: "50%", "0.25%". */
const char *shown_ratio(uint32_t ratio);

/* "11.2 MB" in powers of 1024. */
const char *shown_size(uint64_t bytes);

/* Number of terminal columns that text takes: UTF-8 sequences count one each. */
size_t columns_of(const char *text);

/* True where colour is welcome on standard output: a terminal, and NO_COLOR not set. */
bool output_wants_colour(void);

/* A fixed array from shared memory as a string: copied, bounded, terminated. room is that of result. */
void copy_bounded(char *result, size_t room, const char *bytes, size_t size);

#endif
