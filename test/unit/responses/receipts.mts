/** What tests ask of a receipt. */
import type { Receipt } from '../../../gateway/index.js';

/** The images of a receipt that has some. */
export const imagesOf = (receipt: Receipt | undefined) =>
	receipt?.kind === 'images' ? receipt.images : undefined;
