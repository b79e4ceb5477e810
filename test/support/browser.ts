/** Pages in a real browser, where one is installed; driven by the Chrome DevTools Protocol. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import WebSocket from 'ws';
import { temporaryDirectory } from './temporary-directory.js';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'];

/** The program of POLICYLOOP_CHROMIUM, or the first on the PATH; undefined where there is none. */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.flatMap((folder) => names.map((name) => join(folder, name))).find(existsSync);
  return process.env.POLICYLOOP_CHROMIUM ?? found;
}

export interface Browser {
  /** Opens a file, or an address of http, in a window of this width, 900 pixels high. */
  open(file: string, view: { readonly width: number; readonly dark?: boolean }): Promise<void>;
  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T>;
  /** A PNG of the window, or of the whole page. */
  screenshot(whole?: boolean): Promise<Buffer>;
  /** Presses a key where the focus is. */
  press(key: keyof typeof keys): Promise<void>;
  /** Shows the page as on paper, printed by a system with dark colours. */
  print(): Promise<void>;
  close(): Promise<void>;
}

const keys = {
  Tab: { key: 'Tab', code: 'Tab', windowsVirtualKeyCode: 9 },
  ArrowRight: { key: 'ArrowRight', code: 'ArrowRight', windowsVirtualKeyCode: 39 },
  Enter: { key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' },
  Slash: { key: '/', code: 'Slash', windowsVirtualKeyCode: 191, text: '/' },
  Space: { key: ' ', code: 'Space', windowsVirtualKeyCode: 32, text: ' ' },
} as const;

/** @param program from `findChromium` */
export async function openBrowser(program: string): Promise<Browser> {
  const place = temporaryDirectory();
  const child = spawn(
    program,
    [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--hide-scrollbars',
      '--remote-debugging-port=0',
      `--user-data-dir=${place}`,
      'about:blank',
    ],
    // Relative: the path of a socket may have 107 characters. What is left in it goes with the rest.
    { stdio: ['ignore', 'ignore', 'pipe'], cwd: place, env: { ...process.env, TMPDIR: '.' } },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const { ask, socket } = await connect(await addressOf(child));
  const { targetId } = await ask<{ targetId: string }>('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await ask<{ sessionId: string }>('Target.attachToTarget', {
    targetId,
    flatten: true,
  });
  const inPage = <T>(method: string, parameters: object = {}) => ask<T>(method, parameters, sessionId);
  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result, exceptionDetails } = await inPage<{
      result: { value: T };
      exceptionDetails?: { text: string; exception?: { description?: string } };
    }>('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails === undefined) return result.value;
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  };
  return {
    evaluate,
    async open(file, { width, dark = false }) {
      const size = { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 };
      await inPage('Emulation.setDeviceMetricsOverride', size);
      const scheme = { name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' };
      await inPage('Emulation.setEmulatedMedia', { media: '', features: [scheme] });
      const url = file.startsWith('http:') ? file : pathToFileURL(file).href;
      await inPage('Page.navigate', { url });
      const loaded = `document.readyState === 'complete' && location.href.startsWith(${JSON.stringify(url)})`;
      while (!(await evaluate<boolean>(loaded).catch(() => false))) await new Promise(setImmediate);
    },
    async screenshot(whole = false) {
      const { data } = await inPage<{ data: string }>('Page.captureScreenshot', {
        captureBeyondViewport: whole,
      });
      return Buffer.from(data, 'base64');
    },
    async print() {
      const dark = { name: 'prefers-color-scheme', value: 'dark' };
      await inPage('Emulation.setEmulatedMedia', { media: 'print', features: [dark] });
    },
    async press(key) {
      await inPage('Input.dispatchKeyEvent', { type: 'keyDown', ...keys[key] });
      await inPage('Input.dispatchKeyEvent', { type: 'keyUp', ...keys[key] });
    },
    async close() {
      await ask('Browser.close').catch(() => child.kill('SIGKILL'));
      await ended;
      socket.terminate();
      rmSync(place, { recursive: true, maxRetries: 10 });
    },
  };
}

function addressOf(child: ChildProcess): Promise<string> {
  let said = '';
  return new Promise((resolve, reject) => {
    child.stderr!.on('data', (text: Buffer) => {
      said += String(text);
      const address = /DevTools listening on (ws:\S+)/.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.once('exit', () => reject(new Error(`the browser did not start: ${said.slice(-1000)}`)));
  });
}

interface Answer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

async function connect(address: string) {
  const socket = new WebSocket(address, { perMessageDeflate: false });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  const waiting = new Map<number, (answer: Answer) => void>();
  socket.on('message', (data) => {
    const answer = JSON.parse(String(data)) as Answer;
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
  });
  let last = 0;
  const ask = <T>(method: string, params: object = {}, sessionId?: string) =>
    new Promise<T>((resolve, reject) => {
      const id = ++last;
      waiting.set(id, ({ error, result }) => {
        waiting.delete(id);
        if (error === undefined) resolve(result as T);
        else reject(new Error(`${method}: ${error.message}`));
      });
      socket.send(JSON.stringify({ id, method, params, sessionId }));
    });
  return { ask, socket };
}
