/** Elsewhere than on a terminal, nobody waits longer for a line. In milliseconds. */
const LINE_EVERY_MS = 10_000;

/**
 * Shows how far things are: one line that is refreshed on a terminal; elsewhere plain lines, one at least
 * every ten seconds.
 */
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
		clearInterval(this.timer);
		this.timer = setInterval(() => this.draw(), this.isTerminal ? 250 : LINE_EVERY_MS);
		this.draw();
	}

	/** Shows something that happened and stays on the screen. */
	note(text: string): void {
		if (this.isTerminal) process.stdout.write('\r\x1b[K');
		console.log(`${this.passed()}  ${text}`);
		if (this.isTerminal && this.timer) this.draw(true);
		this.timer?.refresh();
	}

	/** Ends the refreshed line. */
	end(): void {
		clearInterval(this.timer);
		this.timer = undefined;
		if (this.isTerminal) process.stdout.write('\r\x1b[K');
	}

	private passed(): string {
		const seconds = (Date.now() - this.started) / 1000;
		if (seconds < 60) return `${seconds.toFixed(1).padStart(5)} s`;
		return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, '0')} s`;
	}

	private draw(force = false): void {
		const line = `${this.passed()}  ${this.text} …`;
		if (!this.isTerminal) {
			console.log(line);
			return;
		}
		if (line === this.shown && !force) return;
		this.shown = line;
		process.stdout.write(`\r\x1b[K${line}`);
	}
}
