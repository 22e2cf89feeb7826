/** What a prompt can name and a picture shows. */
export interface Subject {
	words: RegExp;
	/** Height in shares of the picture's shorter edge. */
	height: number;
	/** Default: it stands on the ground. */
	flies?: boolean;
	/** The color that a prompt can change: `main` of the shapes. */
	main: string;
	/**
	 * Flat shapes in a box of 1 by 1 that stands on y = 1, each with its color: the corners of a polygon,
	 * or the center and the radius of a disc.
	 */
	shapes: Array<[color: string, points: string]>;
}

const PALE = '#f6f1e8';
const DARK = '#26202a';
const LAMP = '#ffda78';

const ANIMAL: Subject['shapes'] = [
	['main', '.6,.97 .9,.93 1.02,.68 .93,.42 .84,.62 .66,.78'],
	[PALE, '1.02,.68 .93,.42 .87,.56 .93,.63'],
	['main', '.5,.36 .34,.55 .25,.98 .75,.98 .66,.55'],
	[PALE, '.5,.46 .39,.56 .5,.86 .61,.56'],
	[DARK, '.35,.86 .46,.86 .47,1 .33,1'],
	[DARK, '.54,.86 .65,.86 .67,1 .53,1'],
	['main', '.2,.26 .22,-.03 .42,.14'],
	['main', '.8,.26 .78,-.03 .58,.14'],
	['main', '.2,.24 .36,.12 .64,.12 .8,.24 .68,.42 .5,.56 .32,.42'],
	[PALE, '.2,.24 .38,.34 .5,.56 .32,.42'],
	[PALE, '.8,.24 .62,.34 .5,.56 .68,.42'],
	[DARK, '.4,.3,.026'],
	[DARK, '.6,.3,.026'],
	[DARK, '.5,.53,.034'],
];

/** The first that a prompt names is drawn, and the last one where it names none. */
export const SUBJECTS: Subject[] = [
	{ words: /\bfox(es)?\b/i, height: 0.4, main: '#e9652a', shapes: ANIMAL },
	{ words: /\b(cats?|kittens?)\b/i, height: 0.34, main: '#5a5263', shapes: ANIMAL },
	{ words: /\b(wolf|wolves|dogs?|husky)\b/i, height: 0.4, main: '#707b8f', shapes: ANIMAL },
	{
		words: /\blighthouse\b/i,
		height: 0.6,
		main: '#d43a2e',
		shapes: [
			['#3a3846', '.05,1.05 .24,.92 .38,.88 .66,.88 .8,.94 .95,1.05'],
			[PALE, '.42,.26 .58,.26 .64,.95 .36,.95'],
			['main', '.407,.4 .593,.4 .606,.54 .394,.54'],
			['main', '.382,.68 .618,.68 .63,.82 .37,.82'],
			[DARK, '.39,.25 .61,.25 .6,.285 .4,.285'],
			[LAMP, '.44,.14 .56,.14 .56,.25 .44,.25'],
			['main', '.4,.14 .5,.03 .6,.14'],
		],
	},
	{
		words: /\b(bicycles?|bikes?)\b/i,
		height: 0.4,
		main: '#2d6fc4',
		shapes: [
			...['.22', '.78'].flatMap((x): Subject['shapes'] => [
				[DARK, `${x},.78,.22`],
				['#c9d2da', `${x},.78,.18`],
				[DARK, `${x},.78,.03`],
			]),
			['main', '.2,.78 .4,.46 .43,.48 .24,.8'],
			['main', '.22,.76 .5,.76 .5,.8 .22,.8'],
			['main', '.48,.78 .38,.4 .41,.39 .52,.78'],
			['main', '.39,.46 .68,.44 .68,.48 .4,.5'],
			['main', '.48,.78 .67,.46 .7,.48 .52,.8'],
			['main', '.66,.36 .69,.35 .8,.77 .76,.79'],
			[DARK, '.32,.37 .47,.37 .47,.41 .32,.41'],
			[DARK, '.58,.31 .74,.33 .74,.37 .58,.35'],
		],
	},
	{
		words: /\b(balloons?|airship)\b/i,
		height: 0.42,
		flies: true,
		main: '#e63b62',
		shapes: [
			[DARK, '.34,.55 .36,.55 .46,.86 .44,.86'],
			[DARK, '.64,.55 .66,.55 .56,.86 .54,.86'],
			['main', '.5,.34,.32'],
			['main', '.22,.48 .78,.48 .58,.74 .42,.74'],
			[LAMP, '.44,.03 .56,.03 .62,.3 .54,.74 .46,.74 .38,.3'],
			['#6f4a2a', '.42,.85 .58,.85 .56,1 .44,1'],
		],
	},
	{
		words: /\b(boats?|ships?|sail\w*|yacht|harbou?r)\b/i,
		height: 0.36,
		main: '#b0352a',
		shapes: [
			[DARK, '.48,.06 .505,.06 .51,.78 .475,.78'],
			[PALE, '.53,.08 .53,.7 .9,.7 .76,.4'],
			[PALE, '.46,.16 .46,.7 .16,.7'],
			['main', '.08,.75 .94,.75 .8,.95 .22,.95'],
		],
	},
	{
		words: /\b(castle|tower|palace)\b/i,
		height: 0.5,
		main: '#9e3550',
		shapes: [
			['#8f86a8', '.38,.3 .62,.3 .62,1 .38,1'],
			['main', '.34,.3 .5,.02 .66,.3'],
			['#a9a0c0', '.08,.6 .92,.6 .92,1 .08,1'],
			['#8f86a8', '.06,.42 .26,.42 .26,1 .06,1'],
			['#8f86a8', '.74,.42 .94,.42 .94,1 .74,1'],
			['main', '.02,.42 .16,.18 .3,.42'],
			['main', '.7,.42 .84,.18 .98,.42'],
			[LAMP, '.43,.74 .5,.66 .57,.74 .57,1 .43,1'],
		],
	},
	{
		words: /\b(house|cabin|cottage|home|barn|hut)\b/i,
		height: 0.34,
		main: '#a0402f',
		shapes: [
			[DARK, '.68,.14 .8,.14 .8,.45 .68,.4'],
			['#e6d3b3', '.14,.48 .86,.48 .86,1 .14,1'],
			['main', '.04,.52 .5,.1 .96,.52'],
			[DARK, '.26,.66 .44,.66 .44,1 .26,1'],
			[LAMP, '.56,.62 .76,.62 .76,.82 .56,.82'],
		],
	},
	{
		words: /\b(flowers?|rose|tulip|sunflower|garden)\b/i,
		height: 0.46,
		main: '#e8548f',
		shapes: [
			['#317244', '.485,.3 .515,.3 .52,1 .48,1'],
			['#317244', '.5,.86 .3,.6 .26,.72'],
			...['.5,.13', '.66,.22', '.61,.4', '.39,.4', '.34,.22'].map((at): [string, string] => [
				'main',
				`${at},.11`,
			]),
			[LAMP, '.5,.28,.1'],
		],
	},
	{
		words: /\b(trees?|pines?|oak|forest)\b/i,
		height: 0.5,
		main: '#2f6b4c',
		shapes: [
			['#4f3a22', '.46,.8 .54,.8 .55,1 .45,1'],
			['main', '.5,.38 .8,.88 .2,.88'],
			['main', '.5,.18 .73,.64 .27,.64'],
			['main', '.5,0 .66,.36 .34,.36'],
		],
	},
];
