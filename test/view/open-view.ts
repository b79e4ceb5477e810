/** The view of a directory, served by this process. */
import { pageBuilders } from '../../finetune/evaluate/shown-pages.js';
import { authorizationOf } from '../../src/view/admission.js';
import { startView } from '../../src/view/server.js';

export const token = 'a-token-of-this-test';
export const authorization = authorizationOf(token);

export async function openView(path: string) {
  const view = await startView({
    roots: [{ path, prefix: '' }],
    directoryName: 'here',
    port: 0,
    milliseconds: () => performance.now(),
    note: () => undefined,
    token,
    pages: pageBuilders,
  });
  return { ...view, port: Number(new URL(view.url).port) };
}

export type OpenedView = Awaited<ReturnType<typeof openView>>;
