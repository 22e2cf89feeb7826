/**
 * The number of bytes in a megabyte, in options, limits and texts. The protocol doesn't define
 * "MB": this is the larger of its two meanings, so no valid image is rejected.
 */
export const MB = 1024 ** 2;
