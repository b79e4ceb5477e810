/** Closes connections: all of them when a server ends, and idle ones if there are too many. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * @returns a function that closes the server once all complete requests are answered. It also closes
 * connections that sent nothing or half a request, because Node's time limits no longer apply after closing.
 */
export function endingOf(server: Server): () => Promise<void> {
  const open = new Set<IncomingMessage>();
  let isEnding = false;
  const endRest = () => {
    if (isEnding && open.size === 0) server.closeAllConnections();
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    open.add(request);
    response.once('close', () => {
      open.delete(request);
      endRest();
    });
  });
  return () =>
    new Promise((resolve) => {
      isEnding = true;
      server.close(() => resolve());
      server.closeIdleConnections();
      for (const request of open) if (!request.complete) request.destroy();
      endRest();
    });
}

/**
 * Keeps a server responsive: for each connection above the limit, closes the oldest connection that isn't
 * waiting for an answer.
 */
export function guardConnections(server: Server, most = 256): void {
  /** For each connection, oldest first: whether a complete request is still being answered. */
  const isBusy = new Map<Duplex, () => boolean>();
  server.on('connection', (socket: Duplex) => {
    isBusy.set(socket, () => false);
    socket.once('close', () => isBusy.delete(socket));
    if (isBusy.size > most) ([...isBusy].find(([, busy]) => !busy())?.[0] ?? socket).destroy();
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) =>
    isBusy.set(request.socket, () => request.complete && !response.writableEnded),
  );
  // Node accepts upgrade requests only if there is a listener; without one, it handles them like other requests.
  if (server.listenerCount('upgrade') > 0)
    server.on('upgrade', (_: IncomingMessage, socket: Duplex) => isBusy.set(socket, () => true));
}
