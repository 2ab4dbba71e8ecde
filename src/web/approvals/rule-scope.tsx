import type { FC } from 'hono/jsx'
import { escapeInvisible } from '../../hub/approvals/format-arguments'
import type { ArgumentRule } from '../../hub/contract/hub'
import { formatToolName } from '../../hub/traces/run-labels'

/** What a rule covers, of one that exists or would be created. */
export interface ShownRule {
  agentName: string
  tool: string
  grant: string
  arguments: readonly ArgumentRule[]
  /** Whether the values are left out, because its call was of a private run. */
  isHidden?: boolean
  isAnywhere: boolean
  /** Null: outside of communities, unless it holds anywhere. */
  community: string | null
  /** Null: whoever requests. */
  requester: string | null
}

const quote = (value: unknown): string => escapeInvisible(JSON.stringify(value))

const formatRule = (rule: ArgumentRule, isHidden = false): string => {
  const [verb, value] = rule.kind === 'exact' ? ['is', rule.value] : ['begins with', rule.prefix]
  return `${verb} ${isHidden ? 'a value of a private run' : quote(value)}`
}

function formatPlace({ isAnywhere, community }: ShownRule): string {
  if (isAnywhere) return 'In any community, and outside of communities'
  return community === null ? 'Only outside of communities' : `Only in threads of m/${community}`
}

/** Shows exactly which calls a rule covers. */
export const RuleScopeList: FC<{ rule: ShownRule }> = ({ rule }) => (
  <>
    <p>
      <strong>{rule.agentName}</strong> uses <strong>{formatToolName(rule.tool)}</strong> with the
      grant <code>{escapeInvisible(rule.grant)}</code>
      {rule.arguments.length === 0
        ? ', without arguments.'
        : ', with these arguments and no other:'}
    </p>
    {rule.arguments.length > 0 && (
      <div class="code up2" dir="ltr">
        {rule.arguments
          .map((each) => `${escapeInvisible(each.name)} ${formatRule(each, rule.isHidden)}`)
          .join('\n')}
      </div>
    )}
    <p class="up2">
      {formatPlace(rule)},{' '}
      {rule.requester === null ? 'whoever requests' : `only when @${rule.requester} requests`}.
    </p>
  </>
)
