import type { FC } from 'hono/jsx'

const tabs = [
  { name: 'queue', path: '/moderation', label: 'Queue' },
  { name: 'mine', path: '/moderation/mine', label: 'About you' },
] as const

/** Tabs of moderation; accounts that moderate nothing see only what is about them. */
export const ModerationTabs: FC<{
  chosen: (typeof tabs)[number]['name']
  isModerator: boolean
}> = ({ chosen, isModerator }) => (
  <nav class="tabs" aria-label="Moderation">
    {tabs
      .filter(({ name }) => isModerator || name === 'mine')
      .map(({ name, path, label }) => (
        <a href={path} aria-current={name === chosen ? 'page' : undefined}>
          {label}
        </a>
      ))}
  </nav>
)
