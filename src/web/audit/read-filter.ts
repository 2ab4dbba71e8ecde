import type * as z from 'zod'
import { auditErrors } from '../../hub/audit/errors'
import { listDetails } from '../../hub/http/page-entry'
import type { FormProblem, Typed } from '../form/form-state'
import { toProblem } from '../form/to-problem'
import type { PageContext } from '../frame/send-page'

export interface FilterRead<Name extends string, Filter> {
  /** The text of each field of the form; '' for empty fields. */
  values: Typed<Name>
  filter: Filter
  /** The filled-in fields as a query string, for links to the next page and to the CSV. */
  query: string
  /** Why the filter is not valid; the page then shows the unfiltered list. */
  problem: FormProblem | null
}

/** Parses the filter in the query of a page; a filter without fields matches everything. */
export function readFilter<Name extends string, Filter>(
  c: PageContext,
  names: readonly Name[],
  schema: z.ZodType<Filter>,
): FilterRead<Name, Filter> {
  const fields = names.map((name) => [name, c.req.query(name) ?? ''] as const)
  const given = fields.filter(([, value]) => value !== '')
  const values = Object.fromEntries(fields) as Typed<Name>
  const query = new URLSearchParams(given.map(([name, value]) => [name, value])).toString()
  const parsed = schema.safeParse(Object.fromEntries(given))
  if (parsed.success) return { values, filter: parsed.data, query, problem: null }
  const { message, hint } = toProblem(auditErrors.filter(listDetails(parsed.error, '')))
  return { values, filter: schema.parse({}), query, problem: { message, hint } }
}

/** Returns the filter of a CSV. @throws VALIDATION for an invalid one */
export function requireFilter<Name extends string, Filter>(
  c: PageContext,
  names: readonly Name[],
  schema: z.ZodType<Filter>,
): Filter {
  const { filter, problem } = readFilter(c, names, schema)
  if (problem) throw auditErrors.csvFilter(problem.message, problem.hint ?? '')
  return filter
}
