/** A terminal of a given width: what stands on it after everything that was written. */
import { Writable } from 'node:stream';
import stringWidth from 'string-width';

export interface FakeTerminal {
  readonly stream: NodeJS.WriteStream;
  /** Everything that was written, control sequences included. */
  readonly written: () => string;
  /** The lines of the scroll-back and of the screen, from the first. */
  readonly lines: () => readonly string[];
  /** The widest line that was ever shown, also one that was overwritten. */
  readonly widest: () => number;
}

const esc = '\u001b';

/** Control sequences, line ends, and what is drawn. */
const parts = new RegExp(`${esc}\\[[\\d;?]*[A-Za-z]|\\n|\\r|[^${esc}\\n\\r]+`, 'g');

export function fakeTerminal(columns: number): FakeTerminal {
  let written = '';
  let widest = 0;
  const lines: string[] = [''];
  let [row, column] = [0, 0];
  const put = (text: string) => {
    const line = lines[row]!;
    lines[row] = line.slice(0, column).padEnd(column) + text + line.slice(column + text.length);
    column += text.length;
    widest = Math.max(widest, stringWidth(lines[row]!.trimEnd()));
  };
  const control = (sequence: string) => {
    const [, count = '', command] = /^\[\??(\d*)(?:;\d*)?(.)$/.exec(sequence.slice(1)) ?? [];
    if (command === 'G') column = Number(count || 1) - 1;
    else if (command === 'A') row = Math.max(0, row - Number(count || 1));
    else if (command === 'K') lines[row] = count === '2' ? '' : lines[row]!.slice(0, column);
    else if (command === 'J') {
      lines[row] = lines[row]!.slice(0, column);
      lines.splice(row + 1);
    }
  };
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      const text = String(chunk);
      written += text;
      for (const [part] of text.matchAll(parts)) {
        if (part === '\n') {
          row++;
          column = 0;
          lines[row] ??= '';
        } else if (part === '\r') column = 0;
        else if (part.startsWith(esc)) control(part);
        else put(part);
      }
      done();
    },
  });
  const terminal = Object.assign(stream, { isTTY: true, columns });
  return {
    stream: terminal as unknown as NodeJS.WriteStream,
    written: () => written,
    lines: () => lines.map((line) => line.trimEnd()),
    widest: () => widest,
  };
}
