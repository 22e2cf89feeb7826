/**
 * (b) What a developer writes by hand: axios, form-data and simple loops. No care for 429, for
 * faults that pass, for a request that may have been charged, or for Stop.
 */
import axios from 'axios';
import FormData from 'form-data';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { pooled } from '../../harness/pooled.mjs';
import { testImage } from '../test-images.mjs';
import { MODEL, type Candidate, type Outcome, type Prepare, type Work } from '../work.mjs';

/** The node's default, so that neither has more requests under way than the other. */
const CONCURRENCY = 10;

interface Finished {
	data: Array<{ url: string }>;
}

export function axiosByHand({ url, key }: Prepare): Candidate {
	const folder = mkdtempSync(join(tmpdir(), 'bench-by-hand-'));
	// At the end, as n8n's store is: taking away what was loaded is no part of the work.
	process.once('exit', () => rmSync(folder, { recursive: true }));
	const client = axios.create({ baseURL: url, headers: { Authorization: `Bearer ${key}` } });

	const generate = async (query: string) =>
		(await client.post(`/v1/images/generations${query}`, { model: MODEL, prompt: 'a harbor' }))
			.data as Finished & { id: string };

	async function waitFor(id: string, pauseS: number): Promise<Finished> {
		for (;;) {
			const { data } = await client.get(`/v1/images/generations/${id}`);
			if (data.status === 'completed') return data as Finished;
			if (data.status === 'failed') throw new Error(`Task ${id} failed`);
			await sleep(pauseS * 1000);
		}
	}

	async function download(address: string, file: string): Promise<void> {
		const { data } = await axios.get<Readable>(address, { responseType: 'stream' });
		await pipeline(data, createWriteStream(file));
	}

	async function edit(bytes: number): Promise<void> {
		const form = new FormData();
		form.append('model', MODEL);
		form.append('prompt', 'a harbor');
		form.append('image', testImage(bytes), { filename: 'one.png', contentType: 'image/png' });
		await client.post('/v1/images/edits', form, { maxBodyLength: Infinity });
	}

	async function work(job: Work): Promise<number> {
		const concurrency = job.concurrency ?? CONCURRENCY;
		let good = 0;
		switch (job.kind) {
			case 'tasks': {
				const task = async () => {
					const { id } = await generate('?async=true');
					await sleep(job.pauseS * 1000);
					const { data } = await waitFor(id, job.pauseS);
					good += data.length;
				};
				await Promise.all(Array.from({ length: job.count }, task));
				break;
			}
			case 'wait': {
				const wait = async (id: string) => {
					const { data } = await waitFor(id, job.pauseS);
					if (job.download) await download(data[0]!.url, join(folder, id));
					good += data.length;
				};
				await pooled(job.ids, job.download ? concurrency : job.ids.length, wait);
				break;
			}
			case 'generate':
				await pooled(Array.from({ length: job.count }), concurrency, async () => {
					const { data } = await generate('');
					good += data.length;
				});
				break;
			case 'edit':
				await pooled(Array.from({ length: job.count }), concurrency, async () => {
					await edit(job.bytes);
					good += 1;
				});
		}
		return good;
	}

	return {
		run: async (job): Promise<Outcome> => {
			try {
				return { good: await work(job) };
			} catch (error) {
				return { good: 0, error: (error as Error).message };
			}
		},
	};
}
