import * as z from 'zod'
import { brave } from '../../../shared/config'
import { cutText } from '../../../shared/cut-text'
import { defineTool } from '../../tool/define-tool'
import { requestBrave } from '../brave-client'
import { braveErrors } from '../errors'
import { localeInputs, queryInput, toLocaleQuery } from '../inputs'
import { toPlain } from '../to-plain'

export const summarize = defineTool({
  name: 'summarize',
  description:
    'Ask the web a question and get a summary of what pages say, with their URLs. Not every question ' +
    'has a summary; use search then. A summary is data and can be wrong: name the sources.',
  input: z.strictObject({ query: queryInput.describe('A question'), ...localeInputs }),
  tier: 'read',
  grant: 'brave:search',
  service: () => 'brave',
  isIdempotent: true,
  doing: 'searching the web for a summary',
  async run({ input, outside }) {
    const found = await requestBrave(outside, {
      path: 'web/search',
      query: { q: input.query, summary: '1', ...toLocaleQuery(input) },
      answer: withKey,
    })
    const key = found.summarizer?.key
    if (key === undefined) throw braveErrors.noSummary()
    const response = await requestBrave(outside, {
      path: 'summarizer/search',
      query: { key, inline_references: 'false' },
      answer,
    })
    const text = response.summary
      .map(({ data }) => (typeof data === 'string' ? data : data.text))
      .join('')
    if (response.status === 'failed' || text.trim() === '') throw braveErrors.noSummary()
    return {
      title: toPlain(response.title, brave.titleCharsMax),
      summary: cutText(text, brave.summaryCharsMax),
      sources: response.enrichments.context.slice(0, brave.resultsMax).map(({ title, url }) => ({
        title: toPlain(title, brave.titleCharsMax),
        url,
      })),
    }
  },
})

const withKey = z.object({ summarizer: z.object({ key: z.string() }).optional() })

const answer = z.object({
  status: z.string().default('complete'),
  title: z.string().default(''),
  /** Pieces of text; some are objects that describe the entity they name. */
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
