/* SPDX-License-Identifier: MIT */
/*
 * Criterion 2.4.1 maps its arena at an address that it draws by rand_r() and fixes,
 * nearly always in ThreadSanitizer's shadow, where the mapping is refused and no test
 * runs.  In a test binary this definition is found before libc's and draws addresses from
 * 0x560000000000 on, which ThreadSanitizer leaves to programs (and a program that is
 * loaded without randomisation does not lie there).
 */
int rand_r(unsigned int *seed);

int
rand_r(unsigned int *seed)
{
	/* The arena's address is 0x200000000000 + (this << 24). */
	*seed += 1;
	return (int)(0x361000U + (*seed & 0xfffU));
}
