export interface PromptDirectives {
	final?: string;
	seconds?: number;
	empty: boolean;
	quota: boolean;
	refuse: boolean;
}

/**
 * What a prompt asks the gateway to do, for demonstrations: `[fail]`, `[cancel]`, `[empty]`,
 * `[slow N]` (seconds), `[status WORD]` (an unknown status for ever), `[quota]`,
 * `[refuse]` (by a content policy).
 */
export function promptDirectives(prompt: string): PromptDirectives {
	const directives: PromptDirectives = {
		empty: /\[empty\]/i.test(prompt),
		quota: /\[quota\]/i.test(prompt),
		refuse: /\[refuse\]/i.test(prompt),
	};
	const seconds = /\[slow +([\d.]+)\]/i.exec(prompt)?.[1];
	if (seconds !== undefined) directives.seconds = Number(seconds);
	const status = /\[status +([^\]]+)\]/i.exec(prompt)?.[1];
	if (/\[fail\]/i.test(prompt)) directives.final = 'failed';
	else if (/\[cancel\]/i.test(prompt)) directives.final = 'cancelled';
	else if (status !== undefined) {
		directives.final = status;
		directives.seconds ??= 0;
	}
	return directives;
}
