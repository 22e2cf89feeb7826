const LINE_EVERY_MS = 10_000;

/** Says how far things are: a line for each step, and one at least every ten seconds. */
export class Progress {
	private readonly started = Date.now();
	private text = '';
	private timer: NodeJS.Timeout | undefined;

	/** Says a state that lasts, again and again until the next. */
	update(text: string): void {
		if (text === this.text) return;
		this.text = text;
		clearInterval(this.timer);
		this.timer = setInterval(() => this.say(`${text} …`), LINE_EVERY_MS);
		this.say(`${text} …`);
	}

	/** Says something that happened. */
	note(text: string): void {
		this.say(text);
		this.timer?.refresh();
	}

	end(): void {
		clearInterval(this.timer);
		this.timer = undefined;
	}

	private say(text: string): void {
		const seconds = (Date.now() - this.started) / 1000;
		const minutes = Math.floor(seconds / 60);
		const rest = String(Math.floor(seconds % 60)).padStart(2, '0');
		const passed = minutes ? `${minutes} min ${rest}` : seconds.toFixed(1).padStart(5);
		console.log(`${passed} s  ${text}`);
	}
}
