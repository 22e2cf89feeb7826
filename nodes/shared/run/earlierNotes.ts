import type { PaidNote } from './paid';

/** What earlier tries and executions have left, looked up without going through all of it for each item. */
export interface EarlierNotes {
	/** The note of the same request at the same place. */
	ofItem(fingerprint: string, itemIndex: number): PaidNote | undefined;
	/** One of the same request that nobody at its place asks for: for each item another one. */
	ofOthers(fingerprint: string, itemIndex: number): PaidNote | undefined;
	/** What can be had of a place, whatever the request was. */
	ofPlace(itemIndex: number): PaidNote[];
}

/**
 * In time that grows with the number of notes and of items, not with their product: a batch of
 * thousands is retried with thousands of notes, often all of one request.
 *
 * @param notes in the order in which they are handed out
 * @param expected what each item asks for, as fingerprints; complete before the first look-up
 * @param isOwn whether the item at the place of a note takes it, whatever it asks for
 * @param isLeft whether a note can still be had: a call beside this run may hold or have returned it
 */
export function indexNotes(
	notes: readonly PaidNote[],
	expected: ReadonlyMap<number, string>,
	isOwn: (note: PaidNote) => boolean,
	isLeft: (note: PaidNote) => boolean,
): EarlierNotes {
	const ofRequests = grouped(notes, ({ fingerprint }) => fingerprint);
	const ofItems = grouped(notes, ({ fingerprint, itemIndex }) => `${itemIndex} ${fingerprint}`);
	const ofPlaces = grouped(notes, ({ itemIndex }) => itemIndex);
	/** By fingerprint, the last one first: what is taken is taken from the end. */
	const free = new Map<string, PaidNote[]>();

	/** What was found for an item is not found for another one as well: that one has to be paid for. */
	const given = new Map<number, PaidNote>();

	const freeOf = (fingerprint: string): PaidNote | undefined => {
		const isFree = (note: PaidNote): boolean =>
			expected.get(note.itemIndex) !== fingerprint && !isOwn(note);
		const known = free.get(fingerprint);
		const left = known ?? (ofRequests.get(fingerprint) ?? []).filter(isFree).reverse();
		free.set(fingerprint, left);
		let place = left.length - 1;
		// Few are taken by a call beside this run.
		while (place >= 0 && !isLeft(left[place] as PaidNote)) place -= 1;
		return place < 0 ? undefined : left.splice(place, 1)[0];
	};

	return {
		ofItem: (fingerprint, itemIndex) => ofItems.get(`${itemIndex} ${fingerprint}`)?.find(isLeft),
		ofOthers: (fingerprint, itemIndex) => {
			const known = given.get(itemIndex);
			if (known?.fingerprint === fingerprint && isLeft(known)) return known;
			const found = freeOf(fingerprint);
			if (found !== undefined) given.set(itemIndex, found);
			return found;
		},
		ofPlace: (itemIndex) => (ofPlaces.get(itemIndex) ?? []).filter(isLeft),
	};
}

function grouped<Key>(
	notes: readonly PaidNote[],
	keyOf: (note: PaidNote) => Key,
): Map<Key, PaidNote[]> {
	const groups = new Map<Key, PaidNote[]>();
	for (const note of notes) {
		const key = keyOf(note);
		const group = groups.get(key);
		if (group === undefined) groups.set(key, [note]);
		else group.push(note);
	}
	return groups;
}
