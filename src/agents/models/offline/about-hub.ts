const person =
  '(people|persons?|users?|members?|team|team ?-?mates?|colleagues?|co-?workers?|friends?|some(one|body)( else)?|others|my [a-z]+)'
const agent = '(agents?|bots?|scout|you)'
const cost = '(costs?|spent|spend|spending|charged?)'
const own = '(create|make|build|add|start|open|set ?up|write|change|edit|delete|remove)'

/** What people ask about the hub itself, with the answers. The first that matches decides; `~` stands for a few words. */
const topics: [asks: string, answer: string][] = [
  [
    '(what is|what.s|explain|about|how does) (rookery|this (hub|site|place|app|software))( work)?$',
    'Rookery is a hub where people and AI agents work together. Write @ and the name of an agent in a post or a reply: it reads the thread, searches the hub and answers there. [Agents](/agents) lists them, and each answer shows what it cost.',
  ],
  [
    `${own}~(communit(y|ies)|channel|group|room)`,
    '[Create a community](/communities-new) with a name, and choose who reads it. You become its moderator, and change it on its page.',
  ],
  [
    `(invite|add|bring|get|let|register)~${person}( (to|in|on|into|join).*)?$|invit(e|ations?)|how (can|do) (other )?${person} (join|sign up|register)`,
    'An admin opens [People](/admin/people#invite), chooses a role, and sends the link to one person. It works once.',
  ],
  [
    `(limit|cap|control|reduce|restrict)~(${cost}|money|budgets?)|${own}~budgets?`,
    'An admin sets a limit for the hub, an agent or an account on [Budgets](/budgets). When it is used up, no agent that it pays for starts.',
  ],
  [
    `(does|do|will|is) (it|this|that|${agent}|rookery|the hub|asking)( \\w+)? (${cost}|free)|how much~${cost}~(me|us|so far|${agent})|(what|how much)~(it|this|${agent}|rookery|the hub|asking)~${cost}`,
    'I use the built-in offline model, which is free. What agents with other models cost is on [Budgets](/budgets), and for each run on [Runs](/runs).',
  ],
  [
    '(add|use|connect|set ?up|change|choose|switch|enter|configure|need|get)~(models?|llms?|(api|provider) keys?|openai|anthropic|claude|gpt|ollama)',
    'An admin opens [Models](/models), chooses a provider such as OpenAI or Anthropic, enters its key, and chooses Save and test key. Models on the machine of the hub, such as those of Ollama, need no key: the page shows what it finds.',
  ],
  [
    `(stop|pause|cancel|switch off|turn off|disable|silence|mute)~${agent}`,
    'To stop a run, reply `stop` in its thread. To pause an agent, open its page from [Agents](/agents) as its owner or an admin.',
  ],
  [
    `${own}~(agents?|bots?)`,
    'Open [New agent](/agents/new), choose a template, say what the agent does, check the preview, and choose Create agent. To change or delete one, open its page from [Agents](/agents) and choose Edit.',
  ],
  [
    `(see|find|know|watch|check)~what~(${agent}|it) (did|does|do|have|has)|(where|how)~(runs|traces?|logs)`,
    '[Runs](/runs) lists what agents did. The page of a run shows its steps, tool calls, time and cost.',
  ],
  [
    `${agent}~(see|read|know|steal|leak|have|get)~(passwords?|secrets?|keys?|credentials?)|(connect|use|add)~(github|mcp|tools?|services?)`,
    'An admin enters keys of other services on [Credentials](/credentials). No agent sees them: the hub adds them to the calls that its [policy](/policy) allows.',
  ],
  [
    '(change|set|reset|forgot|lost)~(password|passkey)|(log|sign) ?(in|out|on)|passkeys?',
    'There are no passwords: you sign in with a passkey or a link. Add a passkey in [Settings, Sign-in](/settings/sign-in). If you have lost yours, an admin can create a sign-in link for you.',
  ],
  [
    '(on|with|to) (my|the|a) (phone|mobile)|notif(y|ied|ications?)',
    'Open the hub in the browser of your phone and sign in. In [Settings, Notifications](/settings/notifications), add this browser to be notified of mentions and answers.',
  ],
  [
    `${own}~(posts?|comments?|repl(y|ies)|threads?|messages?)`,
    'Write a post [here](/posts-new). To change or delete one of yours, choose Edit at it. Moderators can remove those of others: choose Report.',
  ],
  [
    '(messages?|posts?|threads?|this|it|questions?|hub)~(private|secret|visible)|privacy|who (can|may) (read|see)',
    'Whoever reads a community reads its posts: everybody, its members, or only those in its list. You choose that when you [create a community](/communities-new). A direct message is for its two accounts.',
  ],
  [
    `why~${agent}~(answer|quiet|respond|reply|silent|work)`,
    'Open the page of the agent from [Agents](/agents). It says what holds the agent back.',
  ],
]

const patterns = topics.map(([asks, answer]) => ({
  answer,
  pattern: new RegExp(String.raw`\b(${asks.replaceAll('~', String.raw`\b.{0,25}\b`)})(\b|$)`, 'i'),
}))

/** How people ask about the hub, rather than about what was decided or said in it. */
const asksAbout =
  /^(?!.*\b(((did|does|do|should) (we|our)|decid\w*|agreed|our)\b)).*\b(how|where|can|could|what|which|who|why|is|are|does|do|will|have|list|show|explain)\b/i
const questionCharsMax = 120

/** Returns the answer to a question about the hub itself; null for any other. */
export function answerAboutHub(text: string): string | null {
  const line = text.replace(/\s+/g, ' ').replace(/(?<![\s?!.])[\s?!.]+$/, '')
  if (line.length > questionCharsMax || !asksAbout.test(line)) return null
  return patterns.find(({ pattern }) => pattern.test(line))?.answer ?? null
}
