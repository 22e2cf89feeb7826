/** Shows how far things are: one line that is refreshed on a terminal, plain lines elsewhere. */
export class Progress {
	private readonly started = Date.now();
	private readonly isTerminal = process.stdout.isTTY === true;
	private text = '';
	private shown = '';
	private timer: NodeJS.Timeout | undefined;

	/** Shows a state that lasts. On a terminal the seconds go on beside it. */
	update(text: string): void {
		if (text === this.text) return;
		this.text = text;
		if (this.isTerminal) {
			this.timer ??= setInterval(() => this.draw(), 250);
			this.draw();
		} else {
			console.log(`${this.seconds()} s  ${text}`);
		}
	}

	/** Shows something that happened and stays on the screen. */
	note(text: string): void {
		if (this.isTerminal) process.stdout.write('\r\x1b[K');
		console.log(`${this.seconds()} s  ${text}`);
		if (this.isTerminal && this.timer) this.draw(true);
	}

	/** Ends the refreshed line. */
	end(): void {
		clearInterval(this.timer);
		this.timer = undefined;
		if (this.isTerminal) process.stdout.write('\r\x1b[K');
	}

	private seconds(): string {
		return ((Date.now() - this.started) / 1000).toFixed(1).padStart(5);
	}

	private draw(force = false): void {
		const line = `${this.seconds()} s  ${this.text} …`;
		if (line === this.shown && !force) return;
		this.shown = line;
		process.stdout.write(`\r\x1b[K${line}`);
	}
}
