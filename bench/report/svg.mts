/** Draws the bars that README shows: plain SVG, legible on light and on dark ground. */
import type { Chart } from './lines.mjs';

const WIDTH = 720;
const LABELS = 190;
const VALUES = 110;
const BAR = 18;
const GAP = 6;
const TITLE = 30;
const SPACE = 18;
const PLOT = WIDTH - LABELS - VALUES;

const escape = (text: string) =>
	text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const round = (value: number) => Number(value.toFixed(1));

function heightOf({ bars }: Chart): number {
	return TITLE + bars.length * (BAR + GAP) + SPACE;
}

function draw(chart: Chart, top: number): string {
	const { title, unit, bars, mark } = chart;
	const largest = Math.max(...bars.map(({ value }) => value), mark ?? 0, Number.MIN_VALUE);
	const scale = PLOT / largest;
	const lines = [`<text class="title" x="0" y="${top + 18}">${escape(title)}</text>`];
	bars.forEach(({ name, value, note }, index) => {
		const y = top + TITLE + index * (BAR + GAP);
		const kind = index === 0 ? 'own' : name === 'ideal' ? 'ideal' : 'other';
		const width = Math.max(1, value * scale);
		const text = `${value >= 10 ? value.toFixed(0) : value.toFixed(value >= 1 ? 1 : 2)} ${unit}`;
		const label = note === undefined ? text : `${text}, ${note}`;
		lines.push(
			`<text class="name" x="${LABELS - 8}" y="${y + 13}">${escape(name)}</text>`,
			`<rect class="${kind}" x="${LABELS}" y="${y}" width="${round(width)}" height="${BAR}" rx="2"/>`,
			`<text x="${round(LABELS + width + 6)}" y="${y + 13}">${escape(label)}</text>`,
		);
	});
	if (mark !== undefined) {
		const x = round(LABELS + mark * scale);
		const bottom = top + TITLE + bars.length * (BAR + GAP);
		lines.push(`<line x1="${x}" y1="${top + TITLE - 3}" x2="${x}" y2="${bottom - GAP + 3}"/>`);
	}
	return lines.join('\n');
}

/** One picture of all charts, one below the other. */
export function drawCharts(charts: readonly Chart[]): string {
	let top = 0;
	const parts = charts.map((chart) => {
		const part = draw(chart, top);
		top += heightOf(chart);
		return part;
	});
	const height = top + 20;
	return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="Measurements: shorter bars are better">
<style>
text { font: 12px system-ui, sans-serif; fill: #3c4250; }
.title { font-weight: 600; font-size: 14px; fill: #14181f; }
.name { text-anchor: end; }
.own { fill: #2f7de1; }
.other { fill: #9aa3b2; }
.ideal { fill: #3fa66b; }
line { stroke: #d1493f; stroke-width: 1.5; stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) {
text { fill: #c3c9d4; }
.title { fill: #f0f3f8; }
.own { fill: #58a0f5; }
.other { fill: #6f7889; }
.ideal { fill: #52bd80; }
line { stroke: #f0776d; }
}
</style>
${parts.join('\n')}
<text x="0" y="${top + 12}">Shorter is better; the dashed line is the goal.</text>
</svg>
`;
}
