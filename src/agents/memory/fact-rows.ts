import type { OpenTask, RememberedFact } from '../../mcp-servers/contract/tools'

/** An open task as SQLite returns it. */
export type TaskRow = {
  id: number
  text: string
  createdAt: number
  owner: string
  isUntrusted: number
}
/** A fact as SQLite returns it. */
export type FactRow = TaskRow & { source: string }

export const toTask = ({ owner, isUntrusted, ...task }: TaskRow): OpenTask => ({
  ...task,
  ...(owner !== '' && { isPrivate: true }),
  ...(isUntrusted === 1 && { isUntrusted: true }),
})

export const toFact = ({ owner, isUntrusted, ...fact }: FactRow): RememberedFact => ({
  ...fact,
  ...(owner !== '' && { isPrivate: true }),
  ...(isUntrusted === 1 && { isUntrusted: true }),
})

/** Columns of a fact that is returned. */
const factColumns = `id, text, source, created_at AS createdAt, private_to AS owner,
  is_untrusted AS isUntrusted`

/** Columns of a task that is returned. */
export const taskColumns =
  'id, text, created_at AS createdAt, private_to AS owner, is_untrusted AS isUntrusted'

/** The newest facts that a reader sees, who is '' for nobody; parameters: reader, limit. */
export const selectFacts = `SELECT ${factColumns} FROM facts WHERE private_to IN ('', ?)
  ORDER BY id DESC LIMIT ?`

/** The oldest open tasks that a reader sees; parameters: reader, limit. */
export const selectTasks = `SELECT ${taskColumns} FROM tasks
  WHERE done_at IS NULL AND private_to IN ('', ?) ORDER BY id LIMIT ?`
