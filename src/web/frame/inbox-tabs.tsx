import type { FC } from 'hono/jsx'

const tabs = [
  { name: 'inbox', path: '/inbox', label: 'Notifications' },
  { name: 'messages', path: '/dm', label: 'Messages' },
] as const

/** Tabs of the inbox: notifications and direct messages. */
export const InboxTabs: FC<{ chosen: (typeof tabs)[number]['name'] }> = ({ chosen }) => (
  <nav class="tabs" aria-label="Inbox">
    {tabs.map(({ name, path, label }) => (
      <a href={path} aria-current={name === chosen ? 'page' : undefined}>
        {label}
      </a>
    ))}
  </nav>
)
