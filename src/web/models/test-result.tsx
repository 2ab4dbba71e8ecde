import type { FC } from 'hono/jsx'
import type { TriedModel } from '../../hub/models/actions'
import { formatCost, formatPlural, formatSpan } from '../../shared/format'

/** A test call that was just made. */
export interface TestShown {
  provider: string
  tried: TriedModel
}

/** What a test call took, or why it failed. */
export const TestResult: FC<{ of: TestShown }> = ({ of: { tried } }) => {
  const { usage, failure } = tried
  if (failure !== null) {
    return (
      <div class="wrong up3" role="alert">
        <strong>The test of {tried.model} failed.</strong>
        <p>{failure}</p>
        {usage && <p class="meta">{formatUsage(tried)}</p>}
      </div>
    )
  }
  return (
    <div class="up3" role="status">
      <p>
        <strong>{tried.model} answered.</strong> {formatUsage(tried)}
      </p>
      {tried.text !== '' && <p class="meta">Its answer: {tried.text}</p>}
    </div>
  )
}

const formatUsage = ({ usage, durationMs }: TriedModel): string => {
  const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
  const cost = formatCost(usage?.microusd ?? 0, usage?.isPriced ?? true, 'trace')
  return `${formatSpan(durationMs)}, ${formatPlural(tokens, 'token', 'tokens')}, ${cost}.`
}
