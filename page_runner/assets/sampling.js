// ---
// title: Sampling
// summary: The next token is drawn from logits, as the lesson on strategies does in Python.
// ---
//
// Compared with labml_nn/training/strategies.py by the tests.

// ## Probabilities

// From logits to numbers that are positive and sum to one. To take the largest away changes no
// quotient, and keeps `exp` from running over.
export function softmax(logits) {
  const top = logits.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = Array.from(logits, (logit) => Math.exp(logit - top));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / total);
}

// The likeliest first, each with its probability: `[token, probability]`.
export function likeliest(logits, n) {
  const all = softmax(logits).map((probability, token) => [token, probability]);
  return all.sort((a, b) => b[1] - a[1]).slice(0, n);
}

// ## Filters

// What is left of the vocabulary, with new probabilities. The order is the usual one: temperature,
// top-k, top-p, min-p; each filter sees what the one before it has left.
export function filtered(logits, { temperature = 1, topK = 0, topP = 1, minP = 0 } = {}) {
  const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a]);

  // Nothing can be divided by zero; with a falling temperature the likeliest gets everything.
  if (temperature === 0) return [[order[0], 1]];
  const scaled = (token) => logits[token] / temperature;
  let kept = topK ? order.slice(0, topK) : order;

  // The nucleus: a token is needed as long as the likelier ones don't reach `topP` without it.
  if (topP < 1) {
    const probabilities = softmax(kept.map(scaled));
    let likelier = 0;
    kept = kept.filter((_, at) => {
      const needed = at === 0 || likelier < topP;
      likelier += probabilities[at];
      return needed;
    });
  }

  // A share of the greatest probability is a distance from the greatest logit.
  if (minP > 0) {
    const least = scaled(kept[0]) + Math.log(minP);
    kept = kept.filter((token) => scaled(token) >= least);
  }
  const probabilities = softmax(kept.map(scaled));
  return kept.map((token, at) => [token, probabilities[at]]);
}

// ## Drawing

// One of the tokens, each as often as its probability says. `random` gives numbers from 0 to 1.
export function draw(logits, options, random) {
  const kept = filtered(logits, options);
  let left = random();
  for (const [token, probability] of kept) {
    left -= probability;
    if (left < 0) return token;
  }

  // The sum may be a little less than one, by rounding.
  return kept.at(-1)[0];
}

// Random numbers from a seed, so that two ways of writing draw the same text (Marsaglia's xorshift).
// The seed is spread over all bits first: neighbours would begin alike.
export function randomNumbers(seed) {
  let state = Math.imul(seed + 1, 0x9e3779b1) || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 8; i++) next();
  return next;
}
