import type { ToolCatalog } from '../contract/hub'
import { mergeCallPolicy } from '../grants/queries'
import type { PayingBudget } from './admission-queries'
import type { ResumeCost } from './resume-queries'

/** What resuming a run would cost, with the budgets that pay. */
export interface ResumePromise
  extends Omit<ResumeCost, 'default' | 'own' | 'requested' | 'toolsVersion' | 'actsFor'> {
  paidBy: Pick<PayingBudget, 'scope' | 'name'>[]
  /** Returns where a call of a tool uses the account of the only requester; null: nowhere. */
  findAccount(tool: string): { service: string; isConnected: boolean } | null
}

const toPolicy = <Stored extends { allowed: string[] | null }>(stored: Stored): Stored | null =>
  stored.allowed === null ? null : stored

function toPromise(cost: ResumeCost, payers: PayingBudget[], tools: ToolCatalog): ResumePromise {
  const { default: base, own, requested, toolsVersion, actsFor, ...rest } = cost
  const policy = mergeCallPolicy({
    default: toPolicy(base),
    own: toPolicy(own),
    requested,
    toolsVersion,
    requesters: actsFor,
  })
  return {
    ...rest,
    paidBy: payers.filter(({ activationId }) => activationId === cost.activationId),
    findAccount(name) {
      const found = tools.evaluatePolicy(policy).find(({ tool }) => tool.name === name)
      const service = found?.account ?? null
      return service === null ? null : { service, isConnected: cost.connected.includes(service) }
    },
  }
}

/** Joins what was read about the runs that wait, by the id of the run. */
export async function toResumePromises(
  { costs, payers }: { costs: ResumeCost[]; payers: PayingBudget[] },
  tools: ToolCatalog,
): Promise<ReadonlyMap<string, ResumePromise>> {
  const [first] = costs
  if (first) await tools.refresh(toVersion(first))
  return new Map(costs.map((cost) => [cost.activationId, toPromise(cost, payers, tools)]))
}

const toVersion = ({ toolsVersion }: ResumeCost) => (toolsVersion ? { toolsVersion } : {})

/** Whether the amounts are shown: to those who decide, and to the only requester. */
export const isCostShown = ({ requesters }: ResumePromise, canDecide: boolean): boolean =>
  canDecide || requesters.length === 1
