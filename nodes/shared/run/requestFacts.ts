import type { IDataObject } from 'n8n-workflow';
import type { Bill } from '../../../gateway/responses/cost';

/** The facts of an image request, for its output items and its error. */
export type RequestFacts = Bill & {
	model?: string;
	prompt?: string;
	/** The other parameters that were sent, to reproduce the image. */
	parameters?: IDataObject;
	/** The estimated cost of all requested images, in the gateway's own unit. */
	estimatedCost?: number;
	/**
	 * The price of an image, if the model has one: the cost then follows from the returned images.
	 */
	pricePerImage?: number;
};
