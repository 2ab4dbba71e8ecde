import { sample } from '../../support/sample'
import { type Cell, type Row, readCell, readName, type Sent, type Table } from './cells'
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

/** Refused for who is asking. Any other answer may have used up what the request is about. */
const isRefusal = (expected: Cell): boolean =>
  expected === 401 || expected === 403 || expected === 404

/**
 * Sends the requests of all cells, row by row, and returns those that were answered differently. Requesters
 * who are refused come first, with one request that the first of the others sends too: so it was valid, and
 * none of them has changed anything.
 */
export async function runTable(
  world: World,
  table: Table,
  run: Run,
  chosen: readonly Column[] = columns,
): Promise<Deviation[]> {
  const deviations: Deviation[] = []
  for (const [at, [name, row]] of Object.entries(table).entries()) {
    const cells = sampleCells(
      chosen.map((column) => ({ column, expected: readCell(row, column, run.isPublic) })),
      at,
    )
    const refused = cells.filter(({ expected }) => isRefusal(expected))
    const others = cells.filter(({ expected }) => !isRefusal(expected))
    let unused: Sent | null = null
    for (const { column, expected } of [...refused, ...others]) {
      const sent: Sent = unused ?? (await row.send?.(world, column)) ?? {}
      unused = isRefusal(expected) && !isForColumn(row) ? sent : null
      const response = await run.send(row, column, toRequest(name, sent, run))
      response.webSocket?.accept()
      response.webSocket?.close()
      const text = await response.text()
      const fits =
        expected === '+' ? run.isSuccess(name, response) : run.readStatus(response) === expected
      if (!fits) {
        const got = `${response.status} ${text.slice(0, 160)}`
        deviations.push({ row: name, column, expected, got })
      }
    }
  }
  return deviations
}

/** Whose rights differ from others' by a single rule, so that most rows that take another group by mistake are wrong for them. */
const decisive: ReadonlySet<Column> = new Set(['moderator', 'owner', 'admin'])

/** Returns, of those who get the same answer, the first, who may do the least, those who are decisive, and one that differs by row. */
function sampleCells<Each extends { column: Column; expected: Cell }>(cells: Each[], at: number) {
  const alike = Map.groupBy(cells, ({ expected }) => expected)
  return [...alike.values()].flatMap(([first, ...others]) => [
    ...(first ? [first] : []),
    ...others.filter(({ column }) => decisive.has(column)),
    ...sample(
      others.filter(({ column }) => !decisive.has(column)),
      1,
      at,
    ),
  ])
}

/** Returns whether requests of a row differ by column. */
const isForColumn = ({ send }: Row): boolean => send !== undefined && send.length > 1

function toRequest(name: string, sent: Sent, { base, toBody }: Run): Request {
  const { method, path } = readName(name)
  const body = sent.body && toBody(sent.body)
  return new Request(`http://hub.test${base}${sent.path ?? path}`, {
    method,
    redirect: 'manual',
    headers: { ...(body ? { 'content-type': body.type } : {}), ...sent.headers },
    ...(body ? { body: body.text } : {}),
    ...(sent.image ? { body: sent.image } : {}),
  })
}

/** Formats deviations as a list for people: `POST /posts, guest: expected +, got 403 {...}`. */
export const formatDeviations = (deviations: Deviation[]): string =>
  deviations
    .map(({ row, column, expected, got }) => `${row}, ${column}: expected ${expected}, got ${got}`)
    .join('\n')
