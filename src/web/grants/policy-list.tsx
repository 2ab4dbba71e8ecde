import type { FC } from 'hono/jsx'

export const policyPath = (name: string): string => `/policy/${encodeURIComponent(name)}`

/** Shows rules in one line, or `none` without any. */
export const Rules: FC<{ rules: readonly string[]; none: string }> = ({ rules, none }) =>
  rules.length === 0 ? (
    <span class="meta">{none}</span>
  ) : (
    <span class="rules">
      {rules.map((rule) => (
        <code>{rule}</code>
      ))}
    </span>
  )
