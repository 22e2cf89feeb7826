import type { IExecuteFunctions } from 'n8n-workflow';

/** The day and the time where the workflow is, in a form that sorts and that a file can be called. */
export function localTime(
	context: IExecuteFunctions,
	now: Date,
): { date: string; time: string; timeZone: string } {
	const format = formatFor(context.getTimezone());
	const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
	const joined = (...names: Intl.DateTimeFormatPartTypes[]): string =>
		names.map((name) => parts.get(name)).join('-');
	return {
		date: joined('year', 'month', 'day'),
		time: joined('hour', 'minute', 'second'),
		timeZone: format.resolvedOptions().timeZone,
	};
}

/** Making one takes longer than everything else that is done with it. */
const formats = new Map<string, Intl.DateTimeFormat>();
const MOST_FORMATS = 50;

function formatFor(timeZone: string): Intl.DateTimeFormat {
	const known = formats.get(timeZone);
	if (known !== undefined) return known;
	if (formats.size >= MOST_FORMATS) formats.clear();
	const format = newFormat(timeZone);
	formats.set(timeZone, format);
	return format;
}

function newFormat(timeZone: string): Intl.DateTimeFormat {
	const options: Intl.DateTimeFormatOptions = {
		year: 'numeric',
		month: '2-digit',
		day: '2-digit',
		hour: '2-digit',
		minute: '2-digit',
		second: '2-digit',
		hourCycle: 'h23',
	};
	try {
		return new Intl.DateTimeFormat('en-US', { ...options, timeZone });
	} catch {
		return new Intl.DateTimeFormat('en-US', { ...options, timeZone: 'UTC' });
	}
}
