/** What a scenario gives: lines of the table and a chart. */

export interface Line {
	measure: string;
	/** The goal, in words. */
	goal: string;
	package: string;
	builtIn?: string;
	byHand?: string;
	/** n8n's own HTTP helper in the barest of nodes: no node can go below. */
	platform?: string;
	ideal?: string;
	reached: boolean;
	/** n8n's helper alone misses the goal as well: no node can reach it. */
	platformMisses?: boolean;
}

export interface Chart {
	title: string;
	unit: string;
	/** Shorter is better. `mark` is the goal. */
	bars: Array<{ name: string; value: number; note?: string }>;
	mark?: number;
}

export interface ScenarioResult {
	lines: Line[];
	chart?: Chart;
}

export interface Scenario {
	name: string;
	title: string;
	run(options: ScenarioOptions): Promise<ScenarioResult>;
}

export interface ScenarioOptions {
	/** Smaller and only once: to see whether it works. */
	quick: boolean;
}
