/** The rejection of everything that waits when a run ends early. Users never see it. */
export class RunEnded extends Error {
	override name = 'RunEnded';
}
