/** Bytes sent to a server as they stand, which no HTTP library would write. */
import { connect } from 'node:net';

export interface RawReply {
  /** Status of each response, in order. */
  readonly statuses: readonly number[];
  readonly text: string;
}

/**
 * Sends the bytes and reads until the server closes the connection, or `until` says that the answer is there.
 * @param cut whether the connection is dropped as soon as the bytes are sent
 * @param signal drops it later
 */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  {
    cut = false,
    until = () => false,
    signal,
  }: { cut?: boolean; until?: (text: string) => boolean; signal?: AbortSignal } = {},
): Promise<RawReply> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(bytes, () => cut && socket.destroy());
    });
    signal?.addEventListener('abort', () => socket.destroy());
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1');
      if (until(text)) socket.destroy();
    });
    // A refused connection may be reset while more is sent.
    socket.on('error', () => {});
    socket.on('close', () => {
      const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
      resolve({ statuses, text });
    });
  });
}

/** Text of a request with a Host, closed after its answer. */
export function requestText(
  port: number,
  line: string,
  headers: readonly string[] = [],
  body: string | Buffer = '',
): Buffer {
  const head = [line, `Host: 127.0.0.1:${port}`, 'Connection: close', ...headers, '', ''].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
}
