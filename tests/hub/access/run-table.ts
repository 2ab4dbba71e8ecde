import { type Cell, type Row, readCell, readName, type Table } from './cells'
import type { World } from './create-world'
import { type Column, columns } from './requesters'

/** One request of a table that was not answered as expected. */
export interface Deviation {
  row: string
  column: Column
  expected: Cell
  got: string
}

interface Run {
  isPublic: boolean
  /** Returns the response to the request of a cell. */
  send(row: Row, column: Column, request: Request): Promise<Response>
  /** Returns whether a status is the one that a row's route declares for success. */
  isSuccess(row: string, response: Response): boolean
  /** Returns the status that a refusal means: forms redirect to a page that says why. */
  readStatus(response: Response): number
  toBody(fields: Record<string, unknown>): { type: string; text: string }
  base: string
}

/** Sends the requests of all cells, row by row, and returns those that were answered differently. */
export async function runTable(
  world: World,
  table: Table,
  run: Run,
  chosen: readonly Column[] = columns,
): Promise<Deviation[]> {
  const deviations: Deviation[] = []
  for (const [name, row] of Object.entries(table)) {
    for (const column of chosen) {
      const expected = readCell(row, column, run.isPublic)
      const response = await run.send(row, column, await toRequest(world, name, row, column, run))
      response.webSocket?.accept()
      response.webSocket?.close()
      const text = await response.text()
      const fits =
        expected === '+' ? run.isSuccess(name, response) : run.readStatus(response) === expected
      if (!fits) {
        deviations.push({
          row: name,
          column,
          expected,
          got: `${response.status} ${text.slice(0, 160)}`,
        })
      }
    }
  }
  return deviations
}

async function toRequest(
  world: World,
  name: string,
  row: Row,
  column: Column,
  { base, toBody }: Run,
): Promise<Request> {
  const { method, path } = readName(name)
  const sent = (await row.send?.(world, column)) ?? {}
  const body = sent.body && toBody(sent.body)
  return new Request(`http://hub.test${base}${sent.path ?? path}`, {
    method,
    redirect: 'manual',
    headers: { ...(body ? { 'content-type': body.type } : {}), ...sent.headers },
    ...(body ? { body: body.text } : {}),
  })
}

/** Formats deviations as a list for people: `POST /posts, guest: expected +, got 403 {...}`. */
export const formatDeviations = (deviations: Deviation[]): string =>
  deviations
    .map(({ row, column, expected, got }) => `${row}, ${column}: expected ${expected}, got ${got}`)
    .join('\n')
