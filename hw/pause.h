/**
 * What a polling core does between two polls.
 */
#ifndef RONDE_HW_PAUSE_H
#define RONDE_HW_PAUSE_H

/** A spin-wait hint to the core; one that runs two threads then gives the other one more. */
static inline void ronde_pause_core(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
