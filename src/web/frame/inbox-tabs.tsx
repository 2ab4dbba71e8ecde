import type { FC } from 'hono/jsx'

const tabs = [
  { name: 'inbox', path: '/inbox', label: 'Inbox' },
  { name: 'messages', path: '/dm', label: 'Messages' },
  { name: 'moderation', path: '/moderation/mine', label: 'Moderation' },
] as const

/** Tabs of the inbox: its items, conversations, and what moderators did to the viewer's texts. */
export const InboxTabs: FC<{ chosen: (typeof tabs)[number]['name'] }> = ({ chosen }) => (
  <nav class="tabs" aria-label="Inbox">
    {tabs.map(({ name, path, label }) => (
      <a href={path} aria-current={name === chosen ? 'page' : undefined}>
        {label}
      </a>
    ))}
  </nav>
)
