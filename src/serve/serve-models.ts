import { onAbort } from '../base/abortable.js';
import type { CommandContext } from '../base/context.js';
import { plural } from '../format/numbers.js';
import { openLocalModels } from '../models/local/process/local-model.js';
import type { LocalConfig } from '../models/local/settings.js';
import type { LoopbackHost } from './http.js';
import { type RunningServer, startServer } from './server.js';

export interface NamedAdapter {
  readonly name: string;
  /** Its directory. */
  readonly adapter: string;
}

export interface ServedModels {
  readonly settings: LocalConfig;
  /** Name of the model without an adapter in requests. */
  readonly name: string;
  readonly adapters: readonly NamedAdapter[];
  readonly host: LoopbackHost;
  /** 0: any free one. */
  readonly port: number;
}

/** The properties of a running server. */
export interface Ready {
  readonly url: string;
  readonly model: string;
  readonly adapters: readonly string[];
  readonly device: string;
  readonly threads: number;
  readonly contextTokens: number;
}

/** Serves a local model and its adapters until the first signal; finishes open requests until the second. */
export async function serveModels(
  { settings, name, adapters, host, port }: ServedModels,
  { now, note, stop }: Pick<CommandContext, 'now' | 'note' | 'stop'>,
  onReady: (ready: Ready) => void,
): Promise<void> {
  const models = openLocalModels(
    settings,
    adapters.map(({ adapter }) => adapter),
  );
  try {
    note(`loading ${name} …`);
    const loaded = await Promise.race([models.load(), aborted(stop.finish)]);
    if (loaded === undefined) return;
    const served = adapters.map((one) => ({ name: one.name, model: models.model(one.adapter) }));
    const server = await startServer({
      host,
      port,
      model: {
        served: [{ name, model: models.model() }, ...served],
        created: Math.floor(now().getTime() / 1000),
      },
      now,
      note,
    });
    const { device, threads, contextTokens } = loaded;
    const names = adapters.map((one) => one.name);
    note(
      `${name} on ${device}, ${plural(threads, 'thread')}, ${contextTokens} tokens of context` +
        (names.length === 0 ? '' : `; with adapters: ${names.join(', ')}`),
    );
    onReady({ url: server.url, model: name, adapters: names, device, threads, contextTokens });
    await untilStopped(server, stop);
  } finally {
    await models.close();
  }
}

async function untilStopped(server: RunningServer, { finish, abort }: CommandContext['stop']): Promise<void> {
  await aborted(finish);
  const finished = server.finish();
  await Promise.race([finished, aborted(abort)]);
  server.abort();
  await finished;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((done) => {
    onAbort(signal, () => done(undefined));
  });
}
