import type { Canvas, Point } from './canvas.mjs';
import { hsl, mix, type Color } from './color.mjs';

/** A flat shape in a box of 1 by 1 that stands on y = 1; `fill` names one of the subject's colors. */
type Shape = { fill: string; points: string } | { fill: string; disc: [number, number, number] };

export interface Subject {
	words: RegExp;
	place: 'land' | 'water' | 'sky';
	/** Height in shares of the picture's shorter edge. */
	height: number;
	colors: Record<string, Color>;
	shapes: Shape[];
	/** It may also stand in a picture whose prompt names nothing that can be drawn. */
	quiet?: boolean;
	/** Where it shines at night. */
	light?: Point;
}

const white: Color = [246, 241, 232];
const dark: Color = [38, 32, 42];
const lamp: Color = [255, 218, 120];

const animal: Shape[] = [
	{ fill: 'main', points: '.6,.97 .9,.93 1.02,.68 .93,.42 .84,.62 .66,.78' },
	{ fill: 'pale', points: '1.02,.68 .93,.42 .87,.56 .93,.63' },
	{ fill: 'main', points: '.5,.36 .34,.55 .25,.98 .75,.98 .66,.55' },
	{ fill: 'pale', points: '.5,.46 .39,.56 .5,.86 .61,.56' },
	{ fill: 'legs', points: '.35,.86 .46,.86 .47,1 .33,1' },
	{ fill: 'legs', points: '.54,.86 .65,.86 .67,1 .53,1' },
	{ fill: 'main', points: '.2,.26 .22,-.03 .42,.14' },
	{ fill: 'main', points: '.8,.26 .78,-.03 .58,.14' },
	{ fill: 'legs', points: '.26,.16 .255,.05 .34,.13' },
	{ fill: 'legs', points: '.74,.16 .745,.05 .66,.13' },
	{ fill: 'main', points: '.2,.24 .36,.12 .64,.12 .8,.24 .68,.42 .5,.56 .32,.42' },
	{ fill: 'pale', points: '.2,.24 .38,.34 .5,.56 .32,.42' },
	{ fill: 'pale', points: '.8,.24 .62,.34 .5,.56 .68,.42' },
	{ fill: 'dark', disc: [0.4, 0.3, 0.026] },
	{ fill: 'dark', disc: [0.6, 0.3, 0.026] },
	{ fill: 'dark', disc: [0.5, 0.53, 0.034] },
];

/** What can be recognised in a prompt and drawn; the first that is named is drawn. */
export const subjects: Subject[] = [
	{
		words: /\bfox(es)?\b/i,
		place: 'land',
		height: 0.4,
		colors: { main: hsl(18, 0.82, 0.52), pale: white, legs: hsl(15, 0.5, 0.2), dark },
		shapes: animal,
	},
	{
		words: /\b(cats?|kitten)\b/i,
		place: 'land',
		height: 0.34,
		colors: {
			main: hsl(260, 0.08, 0.3),
			pale: hsl(260, 0.08, 0.38),
			legs: hsl(340, 0.3, 0.5),
			dark: lamp,
		},
		shapes: animal,
	},
	{
		words: /\b(wolf|wolves|dogs?|husky)\b/i,
		place: 'land',
		height: 0.4,
		colors: { main: hsl(215, 0.12, 0.5), pale: white, legs: hsl(215, 0.15, 0.28), dark },
		shapes: animal,
	},
	{
		words: /\blighthouse\b/i,
		place: 'land',
		height: 0.62,
		light: [0.5, 0.19],
		colors: { main: hsl(4, 0.72, 0.5), pale: white, lamp, dark, rock: hsl(250, 0.12, 0.25) },
		shapes: [
			{ fill: 'rock', points: '.1,1.04 .24,.93 .38,.9 .66,.9 .8,.95 .92,1.04' },
			{ fill: 'pale', points: '.42,.26 .58,.26 .64,.95 .36,.95' },
			{ fill: 'main', points: '.407,.4 .593,.4 .606,.54 .394,.54' },
			{ fill: 'main', points: '.382,.68 .618,.68 .63,.82 .37,.82' },
			{ fill: 'dark', points: '.39,.25 .61,.25 .6,.285 .4,.285' },
			{ fill: 'lamp', points: '.44,.14 .56,.14 .56,.25 .44,.25' },
			{ fill: 'main', points: '.4,.14 .5,.03 .6,.14' },
		],
	},
	{
		words: /\b(boats?|ships?|sail\w*|yacht)\b/i,
		place: 'water',
		quiet: true,
		height: 0.34,
		colors: { main: hsl(8, 0.65, 0.42), pale: white, shade: [222, 212, 200], dark },
		shapes: [
			{ fill: 'dark', points: '.48,.06 .505,.06 .51,.78 .475,.78' },
			{ fill: 'pale', points: '.53,.08 .53,.7 .9,.7 .76,.4' },
			{ fill: 'shade', points: '.46,.16 .46,.7 .16,.7' },
			{ fill: 'main', points: '.08,.75 .94,.75 .8,.95 .22,.95' },
		],
	},
	{
		words: /\b(house|cabin|cottage|home|barn|hut)\b/i,
		place: 'land',
		quiet: true,
		height: 0.32,
		light: [0.66, 0.7],
		colors: { main: hsl(12, 0.55, 0.4), pale: hsl(36, 0.5, 0.8), lamp, dark: hsl(20, 0.35, 0.25) },
		shapes: [
			{ fill: 'dark', points: '.68,.14 .8,.14 .8,.45 .68,.4' },
			{ fill: 'pale', points: '.14,.48 .86,.48 .86,1 .14,1' },
			{ fill: 'main', points: '.04,.52 .5,.1 .96,.52' },
			{ fill: 'dark', points: '.26,.66 .44,.66 .44,1 .26,1' },
			{ fill: 'lamp', points: '.56,.62 .76,.62 .76,.82 .56,.82' },
		],
	},
	{
		words: /\b(castle|tower|palace)\b/i,
		place: 'land',
		quiet: true,
		height: 0.5,
		light: [0.5, 0.62],
		colors: {
			main: hsl(345, 0.5, 0.42),
			pale: hsl(265, 0.16, 0.62),
			shade: hsl(265, 0.18, 0.5),
			lamp,
		},
		shapes: [
			{ fill: 'shade', points: '.38,.3 .62,.3 .62,1 .38,1' },
			{ fill: 'main', points: '.34,.3 .5,.02 .66,.3' },
			{ fill: 'pale', points: '.08,.6 .92,.6 .92,1 .08,1' },
			{ fill: 'shade', points: '.06,.42 .26,.42 .26,1 .06,1' },
			{ fill: 'shade', points: '.74,.42 .94,.42 .94,1 .74,1' },
			{ fill: 'main', points: '.02,.42 .16,.18 .3,.42' },
			{ fill: 'main', points: '.7,.42 .84,.18 .98,.42' },
			{ fill: 'lamp', points: '.43,.74 .5,.66 .57,.74 .57,1 .43,1' },
			{ fill: 'lamp', disc: [0.5, 0.44, 0.035] },
			{ fill: 'lamp', disc: [0.16, 0.56, 0.025] },
			{ fill: 'lamp', disc: [0.84, 0.56, 0.025] },
		],
	},
	{
		words: /\b(rocket|spaceship|space)\b/i,
		place: 'sky',
		height: 0.44,
		light: [0.5, 0.95],
		colors: {
			main: hsl(2, 0.7, 0.52),
			pale: white,
			shade: [214, 208, 205],
			glass: hsl(200, 0.7, 0.6),
			lamp,
		},
		shapes: [
			{ fill: 'lamp', points: '.42,.8 .58,.8 .5,1.08' },
			{ fill: 'main', points: '.36,.52 .2,.84 .38,.76' },
			{ fill: 'main', points: '.64,.52 .8,.84 .62,.76' },
			{ fill: 'pale', points: '.5,.02 .62,.2 .66,.45 .6,.8 .4,.8 .34,.45 .38,.2' },
			{ fill: 'shade', points: '.5,.02 .62,.2 .66,.45 .6,.8 .5,.8' },
			{ fill: 'main', points: '.5,.02 .6,.17 .4,.17' },
			{ fill: 'glass', disc: [0.5, 0.38, 0.075] },
		],
	},
	{
		words: /\b(balloons?|airship)\b/i,
		place: 'sky',
		quiet: true,
		height: 0.4,
		colors: { main: hsl(350, 0.72, 0.55), pale: hsl(40, 0.9, 0.72), dark: hsl(25, 0.45, 0.3) },
		shapes: [
			{ fill: 'dark', points: '.34,.55 .36,.55 .46,.86 .44,.86' },
			{ fill: 'dark', points: '.64,.55 .66,.55 .56,.86 .54,.86' },
			{ fill: 'main', disc: [0.5, 0.34, 0.32] },
			{ fill: 'main', points: '.22,.48 .78,.48 .58,.74 .42,.74' },
			{ fill: 'pale', points: '.44,.03 .56,.03 .62,.3 .54,.74 .46,.74 .38,.3' },
			{ fill: 'pale', points: '.27,.13 .33,.08 .28,.32 .36,.66 .32,.61 .21,.46' },
			{ fill: 'pale', points: '.73,.13 .67,.08 .72,.32 .64,.66 .68,.61 .79,.46' },
			{ fill: 'dark', points: '.42,.85 .58,.85 .56,1 .44,1' },
		],
	},
	{
		words: /\b(robots?|android)\b/i,
		place: 'land',
		height: 0.42,
		light: [0.5, 0.28],
		colors: { main: hsl(190, 0.3, 0.58), shade: hsl(195, 0.3, 0.42), lamp, dark },
		shapes: [
			{ fill: 'dark', points: '.49,.02 .51,.02 .51,.16 .49,.16' },
			{ fill: 'lamp', disc: [0.5, 0.03, 0.035] },
			{ fill: 'shade', points: '.14,.5 .26,.5 .22,.82 .12,.8' },
			{ fill: 'shade', points: '.74,.5 .86,.5 .88,.8 .78,.82' },
			{ fill: 'shade', points: '.34,.8 .46,.8 .46,1 .3,1' },
			{ fill: 'shade', points: '.54,.8 .66,.8 .7,1 .54,1' },
			{ fill: 'main', points: '.24,.46 .76,.46 .72,.84 .28,.84' },
			{ fill: 'main', points: '.28,.16 .72,.16 .74,.42 .26,.42' },
			{ fill: 'dark', points: '.33,.22 .67,.22 .68,.34 .32,.34' },
			{ fill: 'lamp', disc: [0.42, 0.28, 0.04] },
			{ fill: 'lamp', disc: [0.58, 0.28, 0.04] },
			{ fill: 'lamp', disc: [0.5, 0.62, 0.06] },
		],
	},
	{
		words: /\b(flowers?|rose|tulip|sunflower|garden)\b/i,
		place: 'land',
		height: 0.46,
		colors: { main: hsl(335, 0.75, 0.62), lamp, leaf: hsl(130, 0.4, 0.32) },
		shapes: [
			{ fill: 'leaf', points: '.485,.3 .515,.3 .52,1 .48,1' },
			{ fill: 'leaf', points: '.5,.86 .3,.6 .26,.72' },
			{ fill: 'leaf', points: '.5,.78 .7,.54 .74,.66' },
			{ fill: 'main', disc: [0.5, 0.13, 0.11] },
			{ fill: 'main', disc: [0.66, 0.22, 0.11] },
			{ fill: 'main', disc: [0.61, 0.4, 0.11] },
			{ fill: 'main', disc: [0.39, 0.4, 0.11] },
			{ fill: 'main', disc: [0.34, 0.22, 0.11] },
			{ fill: 'lamp', disc: [0.5, 0.28, 0.1] },
		],
	},
	{
		words: /\b(trees?|pine|oak)\b/i,
		place: 'land',
		quiet: true,
		height: 0.5,
		colors: { main: hsl(150, 0.4, 0.26), pale: hsl(145, 0.38, 0.34), dark: hsl(25, 0.4, 0.22) },
		shapes: [
			{ fill: 'dark', points: '.46,.8 .54,.8 .55,1 .45,1' },
			{ fill: 'main', points: '.5,.38 .8,.88 .2,.88' },
			{ fill: 'pale', points: '.5,.18 .73,.64 .27,.64' },
			{ fill: 'main', points: '.5,0 .66,.36 .34,.36' },
		],
	},
];

/** Draws a subject into a square of `size` pixels whose lower middle is `foot`; `shade` darkens it. */
export function draw(
	canvas: Canvas,
	subject: Subject,
	[x, y]: Point,
	size: number,
	tint: Color | undefined,
	shade: { color: Color; share: number },
): void {
	const place = (px: number, py: number): Point => [x + (px - 0.5) * size, y + (py - 1) * size];
	for (const shape of subject.shapes) {
		const plain = subject.colors[shape.fill]!;
		// A red fox is no tomato: some of its own color stays.
		const own = shape.fill === 'main' && tint ? mix(tint, plain, 0.4) : plain;
		// Lamps are bright whatever the hour.
		const color = own === lamp ? own : mix(own, shade.color, shade.share);
		if ('disc' in shape) {
			const [px, py, radius] = shape.disc;
			canvas.disc(place(px, py), radius * size, color);
		} else {
			const points = shape.points.split(' ').map((pair) => pair.split(',').map(Number));
			canvas.polygon(
				points.map(([px, py]) => place(px!, py!)),
				color,
			);
		}
	}
	if (subject.light && shade.share > 0.2)
		canvas.glow(place(...subject.light), size * 0.4, lamp, 0.5);
}
