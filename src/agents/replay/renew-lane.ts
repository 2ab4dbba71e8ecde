import type {
  LaneRenewal,
  RenewResult,
  ReplayApi,
  Reservation,
  Usage,
} from '../../hub/contract/hub'

/**
 * Charges the calls that a lane has made and reserves its next one, within what the lane may cost. Null when that leaves
 * too little for the call: then nothing is asked of the hub.
 */
export async function renewWithin(
  replays: Pick<ReplayApi, 'renewLane'>,
  costMaxMicrousd: number,
  request: LaneRenewal,
): Promise<RenewResult | null> {
  const left = costMaxMicrousd - sumCost(request.usage)
  if (request.floor.microusd > left) return null
  const bound = (amount: Reservation): Reservation => ({
    ...amount,
    microusd: Math.min(amount.microusd, left),
  })
  const answer = await replays.renewLane({ ...request, want: bound(request.want) })
  return answer.kind === 'renewed' ? { ...answer, reservation: bound(answer.reservation) } : answer
}

export const sumCost = (usage: Usage[]): number =>
  usage.reduce((sum, { costMicrousd }) => sum + costMicrousd, 0)

export const sumTokens = (usage: Usage[]): number =>
  usage.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0)
