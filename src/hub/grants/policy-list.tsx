import type { FC } from 'hono/jsx'

export const policyPath = (name: string): string => `/policy/${encodeURIComponent(name)}`

/** Patterns, or whatever else a rule is, in one line. */
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
