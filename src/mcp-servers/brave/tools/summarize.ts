import * as z from 'zod'
import { brave } from '../../../config'
import { AppError } from '../../../errors'
import { defineTool } from '../../define-tool'
import { askBrave } from '../brave-client'
import { places, queryInput, toPlaces } from '../inputs'
import { toPlain } from '../to-plain'

export const summarize = defineTool({
  name: 'summarize',
  description:
    'Ask the web a question and get a summary of what pages say, with their addresses. Not every ' +
    'question has one; search then. A summary is data and may be wrong: name the sources.',
  input: z.strictObject({ query: queryInput.describe('A question in whole words'), ...places }),
  tier: 'read',
  grant: 'brave:search',
  service: () => 'brave',
  isIdempotent: true,
  doing: 'asking the web',
  async run({ input, outside }) {
    const found = await askBrave(outside, {
      path: 'web/search',
      query: { q: input.query, summary: '1', ...toPlaces(input) },
      answer: withKey,
    })
    const key = found.summarizer?.key
    if (key === undefined) throw noSummary()
    const said = await askBrave(outside, {
      path: 'summarizer/search',
      query: { key, inline_references: 'false' },
      answer,
    })
    const text = said.summary
      .map(({ data }) => (typeof data === 'string' ? data : data.text))
      .join('')
    if (said.status === 'failed' || text.trim() === '') throw noSummary()
    return {
      title: toPlain(said.title, brave.titleCharsMax),
      summary: text.slice(0, brave.summaryCharsMax),
      sources: said.enrichments.context.slice(0, brave.resultsMax).map(({ title, url }) => ({
        title: toPlain(title, brave.titleCharsMax),
        url,
      })),
    }
  },
})

const noSummary = (): AppError =>
  new AppError('NOT_FOUND', 'There is no summary of this question.', {
    hint: 'Use brave_search instead. Summaries also need a plan of Brave that has them.',
  })

const withKey = z.object({ summarizer: z.object({ key: z.string() }).optional() })

const answer = z.object({
  status: z.string().default('complete'),
  title: z.string().default(''),
  /** Pieces of text, some of them with what is known of the thing they name. */
  summary: z
    .array(
      z.object({
        data: z.union([z.string(), z.object({ text: z.string().default('') })]).catch(''),
      }),
    )
    .nullish()
    .transform((pieces) => pieces ?? []),
  enrichments: z
    .object({
      context: z
        .array(z.object({ title: z.string().default(''), url: z.string().max(2_000) }))
        .default([]),
    })
    .nullish()
    .transform((found) => found ?? { context: [] }),
})
