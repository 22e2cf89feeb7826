import { hsl, type Color } from './color.mjs';
import type { Random } from '../seed.mjs';
import { subjects, type Subject } from './subjects.mjs';

export type Hour = 'day' | 'dawn' | 'dusk' | 'night';
export type Land = 'mountains' | 'hills' | 'sea' | 'city' | 'forest';

/** What a picture shows: as its prompt says, and where it is silent as the seed has it. */
export interface Scene {
	hour: Hour;
	land: Land;
	snow: boolean;
	/** Mountains behind a sea: a mountain lake. */
	peaks: boolean;
	subject: Subject | undefined;
	/** Color of the subject, if the prompt gives it one. */
	tint: Color | undefined;
	/** Hue of the land in degrees. */
	hue: number;
	/** Bands of the sky from top to bottom. */
	sky: Color[];
}

const colorWords: Record<string, Color> = {
	red: hsl(2, 0.78, 0.5),
	orange: hsl(26, 0.9, 0.54),
	yellow: hsl(46, 0.95, 0.58),
	golden: hsl(43, 0.85, 0.55),
	green: hsl(140, 0.5, 0.4),
	turquoise: hsl(176, 0.6, 0.45),
	blue: hsl(214, 0.75, 0.52),
	purple: hsl(275, 0.55, 0.5),
	violet: hsl(265, 0.6, 0.58),
	pink: hsl(335, 0.8, 0.7),
	brown: hsl(24, 0.5, 0.34),
	white: [244, 243, 240],
	black: [44, 42, 50],
	grey: [140, 142, 150],
	gray: [140, 142, 150],
};

const hours: [Hour, RegExp][] = [
	['night', /\b(night|midnight|moon\w*|dark\w*|stars?|starry|space)\b/i],
	['dawn', /\b(dawn|sunrise|morning|early)\b/i],
	['dusk', /\b(dusk|sunset|evening|twilight|autumn)\b/i],
	['day', /\b(day|noon|sunny|summer|bright)\b/i],
];

const lands: [Land, RegExp][] = [
	[
		'sea',
		/\b(sea|ocean|lake|harbou?r|boats?|ships?|sail\w*|yacht|coast|beach|island|water|lighthouse)\b/i,
	],
	['city', /\b(city|town|skyline|street|skyscrapers?)\b/i],
	['mountains', /\b(mountains?|alps?|peaks?|valley|rocks?)\b/i],
	['forest', /\b(forest|woods?|pines?|jungle|fox|wolf)\b/i],
	['hills', /\b(hills?|meadow|fields?|desert|dunes?|garden|flowers?|trees?|oak|countryside)\b/i],
];

/** Reads a prompt's words for the hour, the land, the subject and their colors. */
export function readScene(prompt: string, random: Random): Scene {
	const anyHour = pick(['day', 'dawn', 'dusk', 'night'] as const, random);
	const anyLand = pick(['mountains', 'hills', 'sea', 'city', 'forest'] as const, random);
	const anySubject = pick(
		subjects.filter(({ quiet }) => quiet),
		random,
	);
	const shift = (random() - 0.5) * 50;
	const anyHue = 60 + random() * 230;
	const bare = random() < 0.4;

	const hour = named(hours, prompt) ?? anyHour;
	const land = named(lands, prompt) ?? anyLand;
	const found = subjects.find(({ words }) => words.test(prompt));
	// A land that was asked for is left to itself; a prompt that says nothing gets something to see.
	const free = !bare && named(lands, prompt) === undefined;
	const suits = anySubject.place !== 'water' || land === 'sea';
	const subject = found ?? (free && suits ? anySubject : undefined);
	const word = Object.keys(colorWords).find((name) =>
		new RegExp(`\\b${name}\\b`, 'i').test(prompt),
	);
	const hue = word === undefined ? anyHue : hueOf(colorWords[word]!);
	return {
		hour,
		land,
		peaks: lands.find(([name]) => name === 'mountains')![1].test(prompt),
		snow: /\b(snow\w*|winter|ice|icy|frozen)\b/i.test(prompt),
		subject,
		tint: word !== undefined && found !== undefined ? colorWords[word] : undefined,
		hue: word !== undefined && found === undefined ? hue : anyHue,
		sky: skyOf(hour, found === undefined && word !== undefined ? hue : undefined, shift),
	};
}

/** The first word of a color in a text, and the color. */
export function colorIn(text: string): Color | undefined {
	const word = /\w+/g;
	return text
		.toLowerCase()
		.match(word)
		?.map((one) => colorWords[one])
		.find(Boolean);
}

/** Whether a text speaks of an hour of the day, and of which. */
export function hourIn(text: string): Hour | undefined {
	return named(hours, text);
}

function skyOf(hour: Hour, hue: number | undefined, shift: number): Color[] {
	// A color that the prompt names and that belongs to no subject belongs to the sky.
	if (hue !== undefined) {
		const light = hour === 'night' ? 0.35 : 1;
		return [
			hsl(hue - 25, 0.6, 0.4 * light),
			hsl(hue, 0.7, 0.6 * light),
			hsl(hue + 25, 0.8, 0.78 * light),
		];
	}
	switch (hour) {
		case 'day':
			return [
				hsl(212 + shift, 0.66, 0.52),
				hsl(200 + shift, 0.66, 0.74),
				hsl(190 + shift, 0.6, 0.9),
			];
		case 'dawn':
			return [
				hsl(238 + shift, 0.42, 0.55),
				hsl(325 + shift, 0.55, 0.76),
				hsl(34 + shift, 0.9, 0.82),
			];
		case 'dusk':
			return [
				hsl(255 + shift, 0.5, 0.24),
				hsl(335 + shift, 0.58, 0.48),
				hsl(22 + shift / 2, 0.95, 0.63),
			];
		case 'night':
			return [
				hsl(232 + shift, 0.6, 0.08),
				hsl(226 + shift, 0.52, 0.18),
				hsl(214 + shift, 0.45, 0.34),
			];
	}
}

function named<T>(table: [T, RegExp][], text: string): T | undefined {
	return table.find(([, words]) => words.test(text))?.[0];
}

function pick<T>(list: readonly T[], random: Random): T {
	return list[Math.floor(random() * list.length)]!;
}

function hueOf([red, green, blue]: Color): number {
	const most = Math.max(red, green, blue);
	const spread = most - Math.min(red, green, blue) || 1;
	if (most === red) return ((green - blue) / spread) * 60;
	if (most === green) return ((blue - red) / spread) * 60 + 120;
	return ((red - green) / spread) * 60 + 240;
}
