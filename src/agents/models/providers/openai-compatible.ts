import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible'
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import * as z from 'zod'
import { readThoughts } from '../read-thoughts'
import { createRepairingFetch } from '../repair-stream'
import { splitThoughts } from '../split-thoughts'
import type { ProviderConnection } from './provider-connection'
import { createChatRepair } from './repair-chat'

/** Creates a model of Chat Completions, the protocol of most open-model servers. The key is optional. */
export function createOpenAICompatibleModel(connection: ProviderConnection): LanguageModelV4 {
  const { baseUrl, key, fetch, modelName } = connection
  return new OpenModel(modelName, {
    provider: 'openai-compatible.chat',
    url: ({ path }) => `${baseUrl}${path}`,
    headers: () => (key ? { Authorization: `Bearer ${key}` } : {}),
    fetch: createRepairingFetch(fetch, createChatRepair),
    includeUsage: true,
    convertUsage,
  })
}

class OpenModel extends OpenAICompatibleChatLanguageModel {
  override async doStream(options: LanguageModelV4CallOptions) {
    const result = await super.doStream({ ...options, includeRawChunks: true })
    return { ...result, stream: splitThoughts(readThoughts(result.stream)) }
  }
}

const count = z.number().nullish().catch(null)

/** The protocol defines `cached_tokens` only; the other two cache fields are additions of servers. */
const usageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z
    .object({ cached_tokens: count, cache_write_tokens: count })
    .nullish()
    .catch(null),
  prompt_cache_hit_tokens: count,
  completion_tokens_details: z.object({ reasoning_tokens: count }).nullish().catch(null),
})

function convertUsage(raw: unknown): LanguageModelV4Usage {
  const usage = usageSchema.safeParse(raw).data
  const total = usage?.prompt_tokens ?? undefined
  const output = usage?.completion_tokens ?? undefined
  const details = usage?.prompt_tokens_details
  const cacheRead = details?.cached_tokens ?? usage?.prompt_cache_hit_tokens ?? 0
  const cacheWrite = details?.cache_write_tokens ?? undefined
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens ?? 0
  return {
    inputTokens: { total, noCache: undefined, cacheRead, cacheWrite },
    outputTokens: { total: output, text: undefined, reasoning },
  }
}
