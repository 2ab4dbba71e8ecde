import * as z from 'zod'
import { limits } from '../../../shared/config'
import { defineTool } from '../../define-tool'

export const listFacts = defineTool({
  name: 'list_facts',
  description:
    'List your memory: your facts, best match for the query first, and your open tasks. Your prompt ' +
    'may not include all of your facts.',
  input: z.strictObject({
    query: z
      .string()
      .trim()
      .max(limits.search.queryCharsMax)
      .optional()
      .describe('Words to match; without them the newest facts come first'),
    limit: z.int().min(1).max(100).default(20).describe('How many facts at most'),
  }),
  tier: 'read',
  grant: 'memory:read',
  isIdempotent: true,
  doing: 'reading its notes',
  async run({ input, actor, memory }) {
    const { query, limit } = input
    const found = await memory.listFacts(actor.accountId, { words: query || null, limit })
    return {
      facts: found.facts.map(({ createdAt, ...fact }) => ({ ...fact, noted: toDay(createdAt) })),
      fact_count: found.factCount,
      open_tasks: found.tasks.map(({ createdAt, ...task }) => ({
        ...task,
        since: toDay(createdAt),
      })),
    }
  },
})

const toDay = (at: number): string => new Date(at).toISOString().slice(0, 10)
