import type { RunnerConnection } from '../contract/runners'

/** Returns the upgrade request for the runners' object, with the connection in the query. */
export function toRunnerRequest(connection: RunnerConnection, request: Request): Request {
  const query = new URLSearchParams({ connection: JSON.stringify(connection) })
  const headers = new Headers(request.headers)
  headers.delete('authorization')
  return new Request(`https://runners.invalid/?${query}`, { headers })
}

/** Returns the connection of a request made by `toRunnerRequest`. */
export const readRunnerRequest = (request: Request): RunnerConnection =>
  JSON.parse(new URL(request.url).searchParams.get('connection') ?? 'null')
