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
	/** Whether that midnight ends a month and a year. */
	isEndOfMonth: boolean;
}

const NEW_YEAR = Date.UTC(2027, 0, 1);
const DAY_MS = 86_400_000;

const aheadMs = ({ zone }: Beginning): number => ZONES[zone ?? 'America/New_York'] * 60_000;

/** In milliseconds since 1970. */
export function timeOf(beginning: Beginning): number {
	const { beforeMidnight, isEndOfMonth } = beginning;
	if (beforeMidnight === undefined) return NEW_YEAR;
	const midnight = NEW_YEAR + (isEndOfMonth ? 0 : 14 * DAY_MS);
	return midnight - aheadMs(beginning) - beforeMidnight;
}

/** `2027-01-01`: the day of a moment there. */
export const dayOf = (beginning: Beginning, at: number): string =>
	new Date(at + aheadMs(beginning)).toISOString().slice(0, 10);
