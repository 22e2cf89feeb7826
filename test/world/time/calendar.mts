/** Days where a workflow is, worked out apart from the platform's own calendar, which the package asks. */

/** Minutes that clocks are ahead of UTC in winter. */
export const ZONES = {
	'America/New_York': -300,
	UTC: 0,
	'Asia/Kathmandu': 345,
	'Pacific/Kiritimati': 840,
};

/** When a world begins, and where. */
export interface Beginning {
	/** The workflow's own time zone; undefined: that of n8n, New York. */
	zone?: keyof typeof ZONES;
	/** Milliseconds until midnight; undefined: hours. */
	beforeMidnight?: number;
}

const NEW_YEAR = Date.UTC(2027, 0, 1);

const aheadMs = ({ zone }: Beginning): number => ZONES[zone ?? 'America/New_York'] * 60_000;

/** In milliseconds since 1970. */
export function timeOf(beginning: Beginning): number {
	const { beforeMidnight } = beginning;
	return beforeMidnight === undefined ? NEW_YEAR : NEW_YEAR - aheadMs(beginning) - beforeMidnight;
}

/** `2027-01-01`: the day of a moment there. */
export const dayOf = (beginning: Beginning, at: number): string =>
	new Date(at + aheadMs(beginning)).toISOString().slice(0, 10);
